import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256Of } from "./solver-server.ts";
import { padded, SolverStage } from "./solver-stage.ts";

const dir = mkdtempSync(join(tmpdir(), "writ-https-"));
const stage = new SolverStage();
const program = padded("by https", 400);
let trusted: Server;
let stranger: Server;

beforeAll(async () => {
  trusted = await serve("trusted");
  stranger = await serve("stranger");
  await stage.open({
    NODE_EXTRA_CA_CERTS: join(dir, "trusted.crt"),
    SOLVER_HOSTS: JSON.stringify([hostOf(trusted), hostOf(stranger)]),
  });
});

afterAll(async () => {
  await stage.close();
  for (const server of [trusted, stranger]) server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A server with a certificate of its own making. */
async function serve(name: string): Promise<Server> {
  const [keyFile, certFile] = [join(dir, `${name}.key`), join(dir, `${name}.crt`)];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...kind, "-keyout", keyFile, "-out", certFile, ...subject], {
    stdio: "ignore",
  });
  const server = createServer(
    { key: readFileSync(keyFile), cert: readFileSync(certFile) },
    (_request, response) => {
      response.writeHead(200, { "content-length": program.length }).end(program);
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function hostOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a solver comes over https from a host whose authority the worker was given", async () => {
  const job = { solver_url: `https://${hostOf(trusted)}/x`, solver_checksum: sha256Of(program) };
  expect(await stage.solve(job)).toMatchObject({ status: "completed", result: "by https" });
});

test("an allowed host with a certificate of an unknown authority is not fetched from", async () => {
  const job = { solver_url: `https://${hostOf(stranger)}/x`, solver_checksum: "4".repeat(64) };
  expect(await stage.solve(job)).toMatchObject({
    status: "failed",
    fail_detail: "HTTP_REQUEST_FAILED",
    fail_history: [{ reason: expect.stringContaining("certificate") }],
  });
});
