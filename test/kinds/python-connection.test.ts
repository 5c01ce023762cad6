import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { brokerCertificates } from "../support/broker-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";

const run = promisify(execFile);

/** A server in the place of a hub that does what no hub should. */
async function startServer(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(request, response));
  });
  return urlOf(server, "http");
}

/** Where a server listens, on a free port and until the test is over. */
async function urlOf(server: Server, scheme: "http" | "https"): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const environment = (url: string) => pythonEnv({ WRIT_HUB_URL: url, WRIT_TOKEN: "sk_user_x" });

async function inPython(url: string, code: string): Promise<string> {
  return (await run("python3", ["-c", code], { env: environment(url) })).stdout.trim();
}

describe.runIf(hasPython)(`the connection of the Python package${pythonNote}`, () => {
  test("an answer that breaks off before its body, or within, is asked for again", async () => {
    let calls = 0;
    const job = JSON.stringify({ id: "whole" });
    const url = await startServer((_request, response) => {
      calls++;
      response.writeHead(200, { "content-length": job.length });
      if (calls === 3) return response.end(job);
      response.flushHeaders();
      response.write(calls === 1 ? "" : job.slice(0, 5), () => response.destroy());
    });
    const code = `
from writ import Writ
print(Writ().get("one")["id"])`;
    expect(await inPython(url, code)).toBe("whole");
    expect(calls).toBe(3);
  });

  test("an empty token is refused, and not replaced by the one of the environment", async () => {
    const code = `
from writ import Writ, WritError
try:
    Writ(token="")
except WritError as error:
    print(error.code)`;
    expect(await inPython("http://127.0.0.1:1", code)).toBe("CONFIG_INVALID");
  });

  test("a job that is not JSON is refused before the hub is called", async () => {
    let calls = 0;
    const url = await startServer((_request, response) => {
      calls++;
      response.end("{}");
    });
    const code = `
from writ import Writ, WritError
writ = Writ()
loop = []
loop.append(loop)
for act in (
    lambda: writ.submit("x", {"a": {1}}),
    lambda: writ.submit("x", float("inf")),
    lambda: writ.submit("x", loop),
    lambda: writ.submit_many([{"type": "x", "params": float("nan")}]),
    lambda: writ.submit_many({"type": "x"}),
):
    try:
        act()
    except WritError as error:
        print(error)`;
    expect((await inPython(url, code)).split("\n")).toEqual([
      "INVALID_ARGUMENT: the job is not JSON: Object of type set is not JSON serializable",
      expect.stringMatching(/^INVALID_ARGUMENT: the job is not JSON: Out of range float values/),
      "INVALID_ARGUMENT: the job is not JSON: Circular reference detected",
      expect.stringMatching(/^INVALID_ARGUMENT: the job is not JSON: Out of range float values/),
      "INVALID_ARGUMENT: jobs: each must be a dict with the fields of POST /jobs; found 'type'",
    ]);
    expect(calls).toBe(0);
  });

  test("a process and its fork never read each other's answers", async () => {
    const ports = new Set<number | undefined>();
    const url = await startServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.end(JSON.stringify({ id: request.url?.split("/").at(-1) }));
    });
    const code = `
import os
from writ import Writ
writ = Writ()
writ.get("before")
child = os.fork()
name = "child" if child == 0 else "parent"
is_right = all(writ.get(f"{name}-{n}")["id"] == f"{name}-{n}" for n in range(50))
if child == 0:
    os._exit(0 if is_right else 1)
print(is_right, os.waitpid(child, 0)[1])`;
    expect(await inPython(url, code)).toBe("True 0");
    expect(ports.size).toBeGreaterThan(1);
  });

  test("a connection that the hub has closed meanwhile is replaced, with TLS and a large body too", async () => {
    const { ca, cert, key } = await brokerCertificates();
    const dir = mkdtempSync(join(tmpdir(), "writ-python-tls-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, "ca.crt"), ca);
    const server = createTlsServer({ cert, key, keepAliveTimeout: 1 }, (request, response) => {
      request.resume().on("end", () => response.end('{"id":"one"}'));
    });
    const code = `
from writ import Writ
writ = Writ(ca_file="${join(dir, "ca.crt")}", retry_sec=0)
for _ in range(3):
    writ.submit("large", "x" * 200_000)
    # Until the server has closed it.
    for kept in writ._hub._all_kept().values():
        kept.sock.settimeout(60)
        assert kept.sock.recv(1) == b""
print("sent")`;
    expect(await inPython(await urlOf(server, "https"), code)).toBe("sent");
  });

  test("a wait ends when the caller's time is over, however long calls and their retries may take", async () => {
    const silent = await startServer(() => {});
    const away = await startServer((_request, response) => response.writeHead(503).end());
    const code = `
from writ import TimedOut, Writ
try:
    Writ(timeout_sec=3600, retry_sec=3600).wait("one", timeout_sec=0.1)
except TimedOut as error:
    print(error.code)`;
    for (const url of [silent, away, `${silent},${away}`])
      expect(await inPython(url, code)).toBe("TIMED_OUT");
  });

  test("a wait of no time looks once, and one without an end whose retries are over says that no hub answered", async () => {
    const ended = await startServer((_request, response) => response.end('{"status":"completed"}'));
    const away = await startServer((_request, response) => response.writeHead(503).end());
    const code = (retrySec: number, timeoutSec: number | "None") => `
from writ import Writ, WritError
try:
    print(Writ(retry_sec=${retrySec}).wait("one", timeout_sec=${timeoutSec})["status"])
except WritError as error:
    print(error.code)`;
    expect(await inPython(ended, code(30, 0))).toBe("completed");
    expect(await inPython(away, code(0, "None"))).toBe("HTTP_ERROR");
  });

  test("a hub that a proxy serves below a path is called there", async () => {
    const paths: (string | undefined)[] = [];
    const url = await startServer((request, response) => {
      paths.push(request.url);
      response.end(
        request.url?.includes("/output/") ? "" : '{"attempt":1,"status":"failed","output":{"stdout":0}}',
      );
    });
    const code = `
from writ import Writ, WritError
writ = Writ()
print(writ.get("one")["status"], list(writ.stream("one")))
try: Writ("${url}/api/v1")
except WritError as error: print(error.code)`;
    expect(await inPython(`${url}/writ/`, code)).toBe("failed []\nCONFIG_INVALID");
    expect(paths.map((path) => path?.replace(/\?.*/, ""))).toEqual([
      "/writ/api/v1/jobs/one",
      "/writ/api/v1/jobs/one/output/stdout",
      "/writ/api/v1/jobs/one",
    ]);
  });

  test("a token with the line break of its file is refused, and no error shows it", async () => {
    const url = await startServer((_request, response) => response.end("[]"));
    const code = `
from writ import Writ, WritError
for token in ("sk_user_secret\\n", "sk_user secret", "sk_user_s\\u00e9cret"):
    try:
        Writ(token=token).list()
    except WritError as error:
        print(error.code, token.strip() in str(error))`;
    expect(await inPython(url, code)).toBe(Array(3).fill("CONFIG_INVALID False").join("\n"));
  });

  test("a worker outlives answers that are not a hub's", async () => {
    const calls: Record<string, number> = {};
    const url = await startServer((request, response) => {
      const path = request.url?.replace("/api/v1", "") ?? "";
      calls[path] = (calls[path] ?? 0) + 1;
      const keys = { revocations: [], key_set: { text: "{}", signatures: [] } };
      response.end(JSON.stringify(path === "/keys" ? keys : {}));
    });
    const dir = mkdtempSync(join(tmpdir(), "writ-python-worker-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const code = `
from writ import Worker, trust
key = trust.SigningKey("${dir}/hub.key").public_pem
worker = Worker(worker_id="python", signing_keys=[key], state_dir="${dir}", slots=1)
worker.handle("none")(print)
worker.run()`;
    const child = spawn("python3", ["-c", code], { env: environment(url), stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    await eventually("it asks for work again", () => (calls["/jobs/claim-batch"] ?? 0) > 2);
    await eventually("it sends another heartbeat", () => (calls["/workers/heartbeat"] ?? 0) > 1);
  });
});
