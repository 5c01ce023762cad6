import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { rpcHubForAll, startRpcHub } from "./rpc-hub.ts";

const hub = rpcHubForAll({ WRIT_HOST: "0.0.0.0", WRIT_PUBLIC_URL: "https://hub.example:3000" });

function get(tls: ConnectionOptions): Promise<{ status?: number; protocol?: string | null; error?: string }> {
  const { promise, resolve } = Promise.withResolvers<{
    status?: number;
    protocol?: string | null;
    error?: string;
  }>();
  const call = request(
    { host: "127.0.0.1", port: hub.port, path: "/healthz", agent: false, ...tls },
    (answer) => {
      const socket = answer.socket as unknown as { getProtocol(): string | null };
      resolve({ status: answer.statusCode, protocol: socket.getProtocol() });
      answer.resume();
    },
  );
  call.on("error", (error: Error & { code?: string }) => resolve({ error: error.code ?? error.message }));
  call.end();
  return promise;
}

test("a port that others can reach speaks TLS 1.3 with the home's certificate, and no plain text", async () => {
  expect(await get({ ca: hub.ca })).toEqual({ status: 200, protocol: "TLSv1.3" });
  expect(await get({ ca: hub.ca, servername: "hub.example" })).toMatchObject({ status: 200 });
  expect(await get({})).toHaveProperty("error");
  expect(await get({ ca: hub.ca, maxVersion: "TLSv1.2" })).toHaveProperty("error");
  await expect(fetch(`http://127.0.0.1:${hub.port}/healthz`)).rejects.toThrow();
});

test("O-37 a browser that was here over TLS is told to use nothing else, on every path, and not without TLS", async () => {
  const headerOf = (path: string) =>
    new Promise<unknown>((resolve, reject) => {
      const options = { host: "127.0.0.1", port: hub.port, path, agent: false, ca: hub.ca };
      const call = request(options, (answer) => {
        resolve(answer.resume().headers["strict-transport-security"]);
      });
      call.on("error", reject).end();
    });
  for (const path of ["/", "/healthz", "/api/v1/jobs", "/nowhere"])
    expect(await headerOf(path), path).toBe("max-age=15768000");
  const plain = await startRpcHub();
  const answer = await fetch(`${plain.url}/healthz`);
  expect(answer.headers.get("strict-transport-security")).toBeNull();
  await plain.stop();
});

test("the hub says where it is", () => {
  const file = JSON.parse(readFileSync(join(hub.home, "hub.json"), "utf8"));
  expect(file).toMatchObject({ url: "https://hub.example:3000", port: hub.port, grpc_port: hub.grpcPort });
});

test("half a pair of TLS files stops the start", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-rpc-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  await expect(startRpcHub({ WRIT_TLS_CERT: "/nowhere.crt" }, { home })).rejects.toThrow(
    "must be set together",
  );
});

test("plain text for a proxy in front has to be asked for", async () => {
  const plain = await startRpcHub({ WRIT_HOST: "0.0.0.0", WRIT_PLAINTEXT: "true" });
  expect(plain.url).toBe(`http://127.0.0.1:${plain.port}`);
  expect((await fetch(`${plain.url}/healthz`)).status).toBe(200);
  await plain.stop();
});
