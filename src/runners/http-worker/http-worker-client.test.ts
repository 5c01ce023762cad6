import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { type HandClock, handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { workerConnections } from "./connect-to-worker.ts";
import { HttpWorkerClient } from "./http-worker-client.ts";

const id = "0198f6f0-0000-7000-8000-000000000001";
const job = {
  jobId: id,
  jobClass: "image.resize.v1",
  inputJson: '{"scale":1.0}',
  logOut: "/work/out",
  logErr: "/work/err",
  outputDir: "/work/output",
};

type Reply = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** What the server answers, by method and path; anything else is 404. */
let replies: Record<string, Reply>;
let server: Server;
let port: number;
let calls: string[];

beforeEach(async () => {
  replies = {};
  calls = [];
  server = createServer(async (request, response) => {
    const name = `${request.method} ${request.url}`;
    calls.push(name);
    let body = "";
    for await (const chunk of request) body += chunk;
    const reply = replies[name];
    if (reply === undefined) response.writeHead(404).end();
    else reply(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function say(body: unknown, status = 200): Reply {
  return (_request, response) =>
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
}

const status = `GET /job/${id}`;

/** The server runs in this process. */
function clientWith(clock: Clock): HttpWorkerClient {
  const address = { port, socketFile: "/nowhere/worker.sock", pids: async () => [process.pid] };
  return new HttpWorkerClient(clock, workerConnections(clock, address), "the worker");
}

const client = () => clientWith(systemClock);

/** A reply that never comes; resolves when it is asked for. */
function hang(name: string): Promise<void> {
  return new Promise((resolve) => {
    replies[name] = () => resolve();
  });
}

test("a worker is ready when it answers 200, and only then", async () => {
  for (const code of [204, 301, 404, 500, 503]) {
    replies["GET /health/ready"] = say("", code);
    expect(await client().isReady()).toBe(false);
  }
  replies["GET /health/ready"] = say("fine");
  expect(await client().isReady()).toBe(true);
});

test("a port without a listener is not ready", async () => {
  await new Promise((resolve) => server.close(resolve));
  expect(await client().isReady()).toBe(false);
  await expect(client().submit(job)).rejects.toMatchObject({ detail: "JOB_SUBMIT_FAILED" });
});

test("the wait for a worker that is not ready ends in time", async () => {
  await expect(client().waitUntilReady({ withinMs: 0 })).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    detail: "WORKER_NOT_READY",
  });
});

test("the client waits for a worker that is slow to start", async () => {
  let asked = 0;
  replies["GET /health/ready"] = (...given) => say("", ++asked < 4 ? 503 : 200)(...given);
  await client().waitUntilReady({ withinMs: 60_000 });
  expect(asked).toBe(4);
});

test("a job is submitted with its input exactly as it was signed", async () => {
  let got = "";
  replies["POST /job"] = (request, response, body) => {
    got = body;
    say({ accepted: true, job_id: id })(request, response, body);
  };
  await client().submit(job);
  expect(got).toContain('"job_input":{"scale":1.0}');
  expect(JSON.parse(got)).toEqual({
    job_id: id,
    job_class: "image.resize.v1",
    job_input: { scale: 1 },
    job_log_out: "/work/out",
    job_log_err: "/work/err",
    job_output_dir: "/work/output",
  });
});

test("a job is polled until it has ended, and its progress is passed on", async () => {
  const steps = [
    { job_id: id, status: "pending" },
    { job_id: id, status: "running", progress: 50 },
    { job_id: id, status: "success", result: 7 },
  ];
  replies[status] = (...given) => say(steps.shift())(...given);
  const seen: unknown[] = [];
  const end = await client().waitForEnd(id, { onProgress: (progress) => void seen.push(progress) });
  expect(end).toEqual({ kind: "succeeded", resultJson: "7" });
  expect(seen).toEqual([{ percent: 50 }]);
});

test("the next poll makes up for a failed one", async () => {
  const steps: Reply[] = [
    say("", 502),
    (_request, response) => response.destroy(),
    say({ job_id: id, status: "running" }),
    say("", 502),
    say("", 502),
    say({ job_id: id, status: "completed" }),
  ];
  replies[status] = (...given) => steps.shift()!(...given);
  expect(await client().waitForEnd(id)).toMatchObject({ kind: "succeeded" });
});

test("three useless answers to polls in a row mean that the worker has lost the job", async () => {
  replies[status] = (_request, response) => response.destroy();
  await expect(client().waitForEnd(id)).rejects.toMatchObject({ detail: "HTTP_REQUEST_FAILED" });
  expect(calls).toHaveLength(3);
});

test("an answer that is too large is cut off", async () => {
  replies[status] = (_request, response) => {
    response.on("error", () => {});
    response.end(Buffer.alloc(8 * 1024 * 1024, " "));
  };
  await expect(client().waitForEnd(id)).rejects.toThrow("with more than 4194304 bytes");
});

test("garbage ends the wait at once", async () => {
  replies[status] = say("everything is fine");
  await expect(client().waitForEnd(id)).rejects.toMatchObject({ detail: "HTTP_REQUEST_FAILED" });
  expect(calls).toHaveLength(1);
});

test("a wait ends with the reason of its signal, even in the middle of an answer", async () => {
  const stop = new AbortController();
  const asked = hang(status);
  const waiting = client().waitForEnd(id, { signal: stop.signal });
  await asked;
  stop.abort("cancelled");
  await expect(waiting).rejects.toBe("cancelled");
});

test("a cancel resolves when the job has ended", async () => {
  let state = "running";
  let polls = 0;
  replies[`DELETE /job/${id}`] = say("", 202);
  replies[status] = (...given) => {
    if (++polls === 3) state = "failed";
    say({ job_id: id, status: state })(...given);
  };
  expect(await client().cancel(id, { withinMs: 60_000 })).toBe(true);
  expect(polls).toBe(3);
});

test.each([404, 405, 501])("a worker without DELETE (%i) cannot cancel", async (code) => {
  replies[`DELETE /job/${id}`] = say("", code);
  replies[status] = say({ job_id: id, status: "running" });
  expect(await client().cancel(id, { withinMs: 60_000 })).toBe(false);
});

test("a job that the worker does not know needs no cancel", async () => {
  expect(await client().cancel(id, { withinMs: 60_000 })).toBe(true);
});

/** Lets time pass once the worker has received the request. */
async function passWhenAsked(clock: HandClock, asked: Promise<void>, ms: number): Promise<void> {
  await asked;
  await clock.pass(ms);
}

test("a submission that hangs ends after 10 s, and a readiness check after 5 s", async () => {
  const clock = handClock();
  const slow = clientWith(clock);
  const submitted = expect(slow.submit(job)).rejects.toThrow("did not answer POST /job within 10 s");
  await passWhenAsked(clock, hang("POST /job"), 10_000);
  await submitted;
  const ready = slow.isReady();
  await passWhenAsked(clock, hang("GET /health/ready"), 5_000);
  expect(await ready).toBe(false);
});

test("a worker has at most 16 requests at once; the others wait, and a cancel does not", async () => {
  let open = 0;
  let openMax = 0;
  const gate = Promise.withResolvers<void>();
  replies["GET /health/ready"] = async (_request, response) => {
    openMax = Math.max(openMax, ++open);
    await gate.promise;
    open--;
    response.end();
  };
  const busy = client();
  const checks = Array.from({ length: 40 }, () => busy.isReady());
  await vi.waitUntil(() => open === 16, { timeout: 60_000 });
  expect(await busy.cancel(id, { withinMs: 60_000 })).toBe(true);
  gate.resolve();
  expect(new Set(await Promise.all(checks))).toEqual(new Set([true]));
  expect(openMax).toBe(16);
});

test("a request that waits for its turn ends with its signal", async () => {
  replies["GET /health/ready"] = () => {};
  const busy = client();
  const stop = new AbortController();
  const checks = Array.from({ length: 16 }, () => busy.isReady(stop.signal));
  const waiting = busy.isReady(stop.signal);
  stop.abort("cancelled");
  for (const check of [...checks, waiting]) await expect(check).rejects.toBe("cancelled");
});

test("time in which this program itself was delayed does not count against an answer", async () => {
  const clock = handClock();
  const asked = hang("GET /health/ready");
  let answer: boolean | undefined;
  // Each timer fires a minute late.
  const late: Clock = { ...clock, setTimer: (fn, ms) => clock.setTimer(fn, ms + 60_000) };
  const ready = clientWith(late)
    .isReady()
    .then((isReady) => {
      answer = isReady;
    });
  await passWhenAsked(clock, asked, 9 * 60_500);
  expect(answer).toBe(undefined);
  await clock.pass(60_500);
  await ready;
  expect(answer).toBe(false);
});

test("a job that never ends is given up after its time", async () => {
  replies[status] = say({ job_id: id, status: "running" });
  await expect(client().waitForEnd(id, { timeoutMs: 20 })).rejects.toMatchObject({
    code: "TIMEOUT",
    detail: "JOB_POLL_TIMEOUT",
  });
});
