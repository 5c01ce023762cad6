import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { makeAuthority, makeServerCertificate } from "../../src/hub/certs/make-certificate.ts";

/** A server with a certificate of another authority, as another machine that has taken over the address of a hub. */
export async function startStranger() {
  const nowMs = Date.now();
  const pair = await makeServerCertificate(await makeAuthority(nowMs), { hosts: ["127.0.0.1"], nowMs });
  let [connections, requests] = [0, 0];
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (_request, response) => {
    requests++;
    response.end();
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, connections: () => connections, requests: () => requests };
}
