import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { formatSse } from "../../runtime/http/sse.ts";
import type { Job, JobState } from "../shapes.ts";
import {
  jobIdNumber,
  jobView,
  type RequestHandler,
  sendError,
  sendJson,
  startTinyHub,
} from "../testing/tiny-hub.ts";
import { Writ } from "../writ.ts";
import { JobFailure } from "./job-failure.ts";

const id = jobIdNumber(1);
/** How long a call may take. */
const callMsMax = 30_000;

async function open(answer: RequestHandler) {
  const hub = await startTinyHub(answer);
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return { hub, writ };
}

/** A hub with jobs whose state the test sets, and live events when it says so. */
async function openWithJobs({ hasEvents = true } = {}) {
  const states = new Map<string, JobState>();
  const streams = new Set<ServerResponse>();
  let seq = 0;
  const { hub, writ } = await open(({ path }, response) => {
    if (path !== "/jobs/events") {
      const jobId = path.split("/").at(-1)!;
      return sendJson(response, 200, jobView({ id: jobId, status: states.get(jobId) ?? "running" }));
    }
    if (!hasEvents) return sendError(response, 503, "SHUTTING_DOWN");
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    response.on("close", () => streams.delete(response));
    streams.add(response);
  });
  const end = (jobId: string, status: JobState = "completed") => {
    states.set(jobId, status);
    const data = { id: jobId, type: "test", status, worker_id: null, attempt: 1, priority: 5, ts: 0 };
    for (const stream of streams) {
      stream.write(formatSse({ id: String(++seq), event: `job:${status}`, data: JSON.stringify(data) }));
    }
  };
  const cutStreams = () => {
    for (const stream of streams) stream.destroy();
  };
  return { hub, writ, states, end, cutStreams, streams };
}

const reads = (seen: { path: string }[]) => seen.filter(({ path }) => path !== "/jobs/events").length;

test("a job that does not exist is refused", async () => {
  const { writ } = await open((_, response) => sendError(response, 404, "NOT_FOUND"));
  await expect(writ.wait(id)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a hub that is not there is reported at once", async () => {
  const writ = new Writ({ url: "http://127.0.0.1:1" });
  await expect(writ.wait(id)).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
});

test("C9: a wait that takes too long is rejected with a WritError that names the job", async () => {
  const { writ } = await openWithJobs();
  const refusal = writ.wait(id, { timeoutMs: 20 });
  await expect(refusal).rejects.toBeInstanceOf(WritError);
  await expect(refusal).rejects.toMatchObject({
    code: "TIMED_OUT",
    message: `job ${id} has not ended within 20 ms; it continues`,
    details: { job_id: id },
  });
});

test("a signal ends the wait with its reason", async () => {
  const { writ } = await openWithJobs();
  await expect(writ.wait(id, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("a job that had ended before is given back at once", async () => {
  const { writ, states } = await openWithJobs();
  states.set(id, "failed");
  expect((await writ.wait(id)).status).toBe("failed");
});

test("the event of its end wakes the wait", async () => {
  const { hub, writ, end } = await openWithJobs();
  const waiting = writ.wait(id);
  await expect.poll(() => reads(hub.seen)).toBeGreaterThan(0);

  end(id);

  expect((await waiting).status).toBe("completed");
});

test("O-24: waiting for a job that has ended costs one call", async () => {
  const { hub, writ, states } = await openWithJobs();
  states.set(id, "completed");
  expect((await writ.wait(id)).status).toBe("completed");
  expect(hub.seen.map(({ path }) => path)).toEqual([`/jobs/${id}`]);
});

test("it reads again after it has subscribed, so an end in between is not missed", async () => {
  const { hub, writ, end } = await openWithJobs();
  const waiting = writ.wait(id);
  await expect.poll(() => reads(hub.seen)).toBeGreaterThan(1);
  const paths = hub.seen.map(({ path }) => path);
  expect(paths.lastIndexOf(`/jobs/${id}`)).toBeGreaterThan(paths.indexOf("/jobs/events"));
  end(id);
  await waiting;
});

test("O-24: waitAll gives all jobs in the order in which they were named", async () => {
  const { writ, states } = await openWithJobs();
  const ids = [1, 2, 3].map(jobIdNumber);
  for (const [index, each] of ids.entries()) states.set(each, index === 1 ? "failed" : "completed");
  const ended = await writ.waitAll([ids[0]!, { id: ids[1]! }, ids[2]!]);
  expect(ended.map(({ id: of, status }) => [of, status])).toEqual([
    [ids[0], "completed"],
    [ids[1], "failed"],
    [ids[2], "completed"],
  ]);
  expect(await writ.waitAll([])).toEqual([]);
});

test("results of many jobs read a few at a time, so that no call waits for its answer before it is sent", async () => {
  const hub = await startTinyHub(({ path }, response) => {
    if (path === "/jobs/events")
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    else sendJson(response, 200, jobView({ id: path.split("/").at(-1)!, status: "completed" }));
  });
  let [calls, callsMost] = [0, 0];
  const clock = {
    ...systemClock,
    setTimer(fn: () => void, ms: number) {
      const timer = systemClock.setTimer(fn, ms);
      if (ms !== callMsMax) return timer;
      callsMost = Math.max(callsMost, ++calls);
      let isOver = false;
      const cancel = () => {
        if (!isOver) calls--;
        isOver = true;
        timer.cancel();
      };
      return { ...timer, cancel };
    },
  };
  const writ = new Writ({ url: hub.url, clock });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  const ids = Array.from({ length: 1_000 }, (_, number) => jobIdNumber(number));
  const ended = await Array.fromAsync(writ.results(ids), (outcome) => outcome.id);
  expect(ended.sort()).toEqual(ids);
  expect(callsMost).toBeGreaterThan(8);
  expect(callsMost).toBeLessThan(100);
});

test("O-24: results gives each job when it ends, and ends its waits with its reader", async () => {
  const { writ, end, streams } = await openWithJobs();
  const ids = [1, 2, 3].map(jobIdNumber);
  const outcomes = writ.results(ids);
  const first = outcomes.next();
  await expect.poll(() => streams.size).toBe(3);
  end(ids[2]!);
  expect((await first).value).toMatchObject({ id: ids[2], isCompleted: true });
  end(ids[0]!, "failed");
  const { value } = await outcomes.next();
  expect(value).toMatchObject({ id: ids[0], isCompleted: false });
  expect(value.error).toBeInstanceOf(JobFailure);
  await outcomes.return(undefined);
  await expect.poll(() => streams.size).toBe(0);
});

test("O-24: one wait of many that is refused ends the others", async () => {
  const { writ, states } = await openWithJobs();
  states.set(jobIdNumber(1), "completed");
  await expect(writ.waitAll([jobIdNumber(1), jobIdNumber(2)], { timeoutMs: 20 })).rejects.toMatchObject({
    code: "TIMED_OUT",
    message: expect.stringContaining("within 20 ms"),
  });
});

test("O-24: an invalid time limit is refused with its unit", async () => {
  const { writ } = await openWithJobs();
  await expect(writ.wait(id, { timeoutMs: "5m" as never })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'timeoutMs: "5m" is not a number of milliseconds',
  });
});

test("without events it polls", async () => {
  const { writ, states } = await openWithJobs({ hasEvents: false });
  const waiting = writ.wait(id);
  states.set(id, "completed");
  expect((await waiting).status).toBe("completed");
});

test("an end that comes while the stream is broken is seen", async () => {
  const { hub, writ, states, cutStreams, streams } = await openWithJobs();
  const waiting = writ.wait(id);
  await expect.poll(() => streams.size).toBe(1);
  await expect.poll(() => reads(hub.seen)).toBeGreaterThan(0);

  states.set(id, "completed");
  cutStreams();

  expect((await waiting).status).toBe("completed");
});

test("many waits share one stream, and each gets its own job", async () => {
  const { hub, writ, end, streams } = await openWithJobs();
  const ids = Array.from({ length: 100 }, (_, index) => jobIdNumber(index + 1));
  const waiting = Promise.all(ids.map((each) => writ.wait(each)));
  // A wait whose stream opens late reads without one first, so there may be more reads than waits.
  await expect.poll(() => reads(hub.seen)).toBeGreaterThanOrEqual(100);
  await expect.poll(() => streams.size).toBe(9);

  for (const each of ids) end(each);

  expect((await waiting).map((job: Job) => job.id)).toEqual(ids);
  await expect.poll(() => streams.size).toBe(0);
});
