import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import {
  answerFrame,
  frameKinds,
  numberFrame,
  plainFrame,
  writeLimits,
} from "../../src/runtime/wire/frame.ts";
import { type Frame, FrameReader } from "../../src/runtime/wire/frame-reader.ts";
import { readRequest } from "../../src/runtime/wire/read-payload.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const run = promisify(execFile);

async function python(code: string, env: Record<string, string>): Promise<string> {
  return (await run("python3", ["-c", code], { env: pythonEnv({ HOME: tmpdir(), ...env }) })).stdout.trim();
}

describe.runIf(hasPython)(
  `the Python package in frames, against a server that breaks rules${pythonNote}`,
  () => {
    /** Calls one after the other until frames are used, and then once more; prints what each call gave. */
    const callsUntilFramed = `
import time
from writ import Writ, WritError
hub = Writ()
give_up_at = time.monotonic() + 60
while hub.list() != ["framed"]:
    assert time.monotonic() < give_up_at
try: print(hub.list())
except WritError as error: print(error.code, error.message.split("(")[-1])
print(hub.list())`;

    test.each<[string, (frame: Frame, socket: Duplex) => void]>([
      [
        "an answer to no request",
        (_, socket) => socket.write(answerFrame(9_999, { status: 200, head: "", body: "[]" })),
      ],
      [
        "an answer that ends early",
        ({ id }, socket) => socket.write(plainFrame(frameKinds.answer, id, Buffer.from([0]))),
      ],
      ["a frame of an unknown kind", (_, socket) => socket.write(Buffer.from([0, 0, 0, 5, 99, 0, 0, 0, 0]))],
      ["a frame of four gigabytes", (_, socket) => socket.write(Buffer.alloc(9, 255))],
      ["a frame that is too short", (_, socket) => socket.write(Buffer.alloc(9))],
      ["half a frame, and the end", (_, socket) => socket.end(Buffer.from([0, 0, 0, 9, 2]))],
      [
        "a close",
        (_, socket) => socket.write(plainFrame(frameKinds.close, 0, Buffer.from("token-refused: x"))),
      ],
      ["a stop", (_, socket) => socket.write(numberFrame(frameKinds.stop, 0, 0))],
      [
        "not served in frames",
        ({ id }, socket) => socket.write(answerFrame(id, { status: 421, head: "", body: null })),
      ],
    ])("%s: the call goes over HTTP", async (_what, bad) => {
      const server = await framedServer();
      let framed = 0;
      server.onRequest = (frame, answer, socket) =>
        ++framed === 1 ? answer('["framed"]') : bad(frame, socket);
      expect(await python(callsUntilFramed, env(server.url))).toBe("['http']\n['http']");
    });

    test("a server that does not upgrade is asked once", async () => {
      const server = await framedServer(false);
      const code = `
from writ import Writ
hub = Writ()
print([hub.list()[0] for _ in range(20)].count("http"))`;
      expect(await python(code, env(server.url))).toBe("20");
      expect(server.asked).toBe(1);
    });

    test("WRIT_FRAMES=false asks for none, and another value is refused", async () => {
      const server = await framedServer();
      const code = `
from writ import Writ, WritError
try: print([Writ().list()[0] for _ in range(20)].count("http"))
except WritError as error: print(error.message)`;
      expect(await python(code, { ...env(server.url), WRIT_FRAMES: "false" })).toBe("20");
      expect(server.asked).toBe(0);
      const refused = await python(code, { ...env(server.url), WRIT_FRAMES: "no" });
      expect(refused).toBe("WRIT_FRAMES: 'no' is not allowed; use true or false");
    });

    test("a large body and an answer in pieces arrive whole, and a ping is answered", async () => {
      const server = await framedServer();
      const text = "x".repeat(300_000);
      server.onRequest = (frame, answer, socket) => {
        const { head, body } = readRequest(frame);
        if (head.startsWith("GET")) return answer('["framed"]');
        socket.write(plainFrame(frameKinds.ping, 0, Buffer.from("12345678")));
        const whole = answerFrame(frame.id, {
          status: 201,
          head: "X-Size: 1",
          body: JSON.stringify({ id: String(body.length), echo: text }),
        });
        socket.write(whole.subarray(0, 5));
        setImmediate(() => socket.write(whole.subarray(5)));
      };
      const code = `
import time
from writ import Writ
hub = Writ()
give_up_at = time.monotonic() + 60
while hub.list() != ["framed"]:
    assert time.monotonic() < give_up_at
print(hub.submit("big", "${"y".repeat(50_000)}" * 10) > "500000", hub.list())`;
      expect(await python(code, env(server.url))).toBe("True ['framed']");
      expect(server.pongs).toBe(1);
    });
  },
);

describe.runIf(hasPython)(`the Python package in frames, against a hub${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-frames-"));
  let hub: TestHub;
  let writ: Writ;

  beforeAll(async () => {
    hub = await startTestHub({});
    writ = new Writ({ url: hub.url, token: hub.admin });
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
  });
  afterAll(async () => {
    writ?.close();
    await hub?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const here = () => ({ HOME: dir, WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin });

  test("many threads of a client share one connection, and each gets its own answer", async () => {
    const type = freshName("threads");
    const code = `
from concurrent.futures import ThreadPoolExecutor
from writ import Writ, WritError
hub = Writ()
for _ in range(20): hub.list(limit=1)
def one(index):
    id = hub.submit("${type}", {"n": index})
    return hub.get(id)["params"]["n"] == index
with ThreadPoolExecutor(16) as pool:
    print(all(pool.map(one, range(300))))
try: hub.get("01890000-0000-7000-8000-000000000000")
except WritError as error: print(error.code, error.status)
print(len(hub._hub._wires._open))`;
    expect(await python(code, here())).toBe("True\nNOT_FOUND 404\n1");
    expect((await Array.fromAsync(writ.list({ type }))).length).toBe(300);
  });

  test("a worker claims and reports in batches, each job once, with its own receipt", async () => {
    const type = freshName("batched");
    const jobs = 200;
    await writ.submitBatch(Array.from({ length: jobs }, (_, n) => ({ type, params: { n } })));
    const calls = await callsOf(hub);
    const code = `
import threading
from writ import Worker
worker = Worker(worker_id="${freshName("python")}", signing_keys_file="${dir}/keys.pem", state_dir="${dir}/w", slots=16)
left = threading.Semaphore(0)
@worker.handle("${type}")
def double(params, job):
    left.release()
    if params["n"] == 13: raise ValueError("thirteen")
    return params["n"] * 2
with worker:
    for _ in range(${jobs}): assert left.acquire(timeout=120)`;
    await python(code, here());
    const found = await Array.fromAsync(writ.list({ type }));
    expect(found.filter(({ status }) => status === "completed").length).toBe(jobs - 1);
    for (const { id, status } of found.slice(0, 20)) {
      if (status !== "completed") continue;
      const job = await writ.get(id);
      expect(job.result).toBe((job.params as { n: number }).n * 2);
      expect((await hub.must("GET", `/jobs/${id}/receipt`, { token: hub.admin })).status).toBe(200);
    }
    const after = await callsOf(hub);
    const made = (route: string) => (after.get(route) ?? 0) - (calls.get(route) ?? 0);
    expect(made("/jobs/claim")).toBe(0);
    expect(made("/jobs/claim-batch")).toBeLessThan(jobs);
    expect(made("/jobs/results")).toBeGreaterThan(0);
    expect(made("/jobs/:id/result") + made("/jobs/results")).toBeLessThan(jobs);
  });
});

function env(url: string): Record<string, string> {
  return { WRIT_HUB_URL: url, WRIT_TOKEN: "sk_user_x" };
}

/** How often each route has been called. */
async function callsOf(hub: TestHub): Promise<Map<string, number>> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  const calls = new Map<string, number>();
  for (const [, route, count] of text.matchAll(/^writ_http_requests_total\{.*route="([^"]+)".*\} (\d+)$/gm))
    calls.set(route!, (calls.get(route!) ?? 0) + Number(count));
  return calls;
}

/** Answers ["http"] over HTTP, and in frames what a test says. */
async function framedServer(mayUpgrade = true) {
  const hub = {
    url: "",
    asked: 0,
    pongs: 0,
    onRequest: (_frame: Frame, answer: (body: string) => void, _socket: Duplex): unknown =>
      answer('["framed"]'),
  };
  const server: Server = createServer(
    {
      shouldUpgradeCallback: () => {
        hub.asked++;
        return mayUpgrade;
      },
    },
    (incoming, outgoing) => {
      incoming.resume();
      if (incoming.url === "/api/v1/frames") outgoing.writeHead(404);
      outgoing.end('["http"]');
    },
  );
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => sockets.add(socket));
  server.on("upgrade", (_incoming: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => {});
    const limits = writeLimits({ credit: 4 * 1024 ** 2, requests: 256 });
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: writ-frames\r\nConnection: Upgrade\r\nWrit-Frames: ${limits}\r\n\r\n`,
    );
    const reader = new FrameReader(2 ** 25, (frame) => {
      if (frame.kind === frameKinds.pong) hub.pongs++;
      if (frame.kind !== frameKinds.request) return;
      const answer = (body: string) => socket.write(answerFrame(frame.id, { status: 200, head: "", body }));
      hub.onRequest(frame, answer, socket);
    });
    socket.on("data", (bytes: Buffer) => reader.push(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return hub;
}
