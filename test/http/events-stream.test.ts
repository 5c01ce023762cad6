import { expect, test } from "vitest";
import { liveEvent } from "../../src/contract/shapes/view-shapes.ts";
import { type EventKind, eventTable } from "../../src/core/events.ts";
import { lastSeq, readEvents } from "../support/database.ts";
import { openEventStream, type StreamedEvent } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, quarantinedJob, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const liveNameOf = (event: string) => eventTable[event as EventKind].live;

/** What a stream should have shown, read from the log itself. */
function loggedAfter(seq: number, isVisible: (event: ReturnType<typeof readEvents>[number]) => boolean) {
  return readEvents(hub.home, seq)
    .filter((event) => liveNameOf(event.event) !== null && isVisible(event))
    .map((event) => ({ id: String(event.seq), event: `job:${liveNameOf(event.event)}`, job: event.job_id }));
}

const shown = (events: StreamedEvent[]) =>
  events.map(({ id, event, data }) => ({ id, event, job: data["id"] }));

test("the events of a job arrive in order, each with its data", async () => {
  const stream = await openEventStream(hub, "/jobs/events", { token: tokens.alice });
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
  });
  const done = await completedJob(hub, { token: tokens.alice, priority: 7 });
  const { id } = await runningJob(hub, { token: tokens.alice });
  await hub.must("POST", `/jobs/${id}/progress`, {
    token: hub.admin,
    body: { worker_id: (await jobOf(id)).worker_id, progress: 40.5, detail: "half" },
  });
  const progress = await stream.until("progress", ({ event }) => event === "job:progress");
  expect(progress.data).toMatchObject({ id, progress: 40.5, detail: "half", status: "running" });
  const ofFirst = stream.events.filter(({ data }) => data["id"] === done.id);
  expect(ofFirst.map(({ event }) => event)).toEqual([
    "job:created",
    "job:assigned",
    "job:running",
    "job:completed",
  ]);
  expect(ofFirst.map(({ data }) => data["status"])).toEqual(["pending", "assigned", "running", "completed"]);
  for (const { data } of stream.events) expect(liveEvent.safeParse(data).success).toBe(true);
  const dead = await quarantinedJob(hub, { token: tokens.alice });
  const last = await stream.until("quarantined", ({ event }) => event === "job:quarantined");
  expect(last.data).toMatchObject({
    id: dead.id,
    fail_code: "EXECUTION_ERROR",
    attempt: 2,
    worker_id: dead.fence.worker_id,
  });
  expect(stream.events.some(({ event, data }) => event === "job:retrying" && data["id"] === dead.id)).toBe(
    true,
  );
  stream.cut();
});

test("each sees what it may: its own jobs, its tenant's, or all", async () => {
  const open = (token: string, path = "/jobs/events") => openEventStream(hub, path, { token });
  const streams = {
    alice: await open(tokens.alice),
    bob: await open(tokens.bob),
    eve: await open(tokens.eve),
    acmeViewer: await open(tokens.acmeViewer),
    admin: await open(hub.admin),
  };
  const ofAlice = (await submitJob(hub, { token: tokens.alice })).id;
  const one = await open(tokens.alice, `/jobs/events?job_id=${ofAlice}`);
  const ofBob = (await submitJob(hub, { token: tokens.bob })).id;
  const ofEve = (await submitJob(hub, { token: tokens.eve })).id;
  await hub.must("DELETE", `/jobs/${ofAlice}`, { token: tokens.alice });
  await streams.admin.until(
    "all is told",
    ({ event, data }) => event === "job:failed" && data["id"] === ofAlice,
  );
  await streams.eve.until("eve's is told", ({ data }) => data["id"] === ofEve);
  await streams.acmeViewer.until("the tenant's is told", ({ event }) => event === "job:failed");
  await streams.alice.until("alice's is told", ({ event }) => event === "job:failed");
  await streams.bob.until("bob's is told", ({ data }) => data["id"] === ofBob);
  await one.until("the job's is told", ({ event }) => event === "job:failed");
  const seen = (name: keyof typeof streams) => new Set(streams[name].events.map(({ data }) => data["id"]));
  expect(seen("alice")).toEqual(new Set([ofAlice]));
  expect(seen("bob")).toEqual(new Set([ofBob]));
  expect(seen("eve")).toEqual(new Set([ofEve]));
  expect(seen("acmeViewer")).toEqual(new Set([ofAlice, ofBob]));
  expect(seen("admin")).toEqual(new Set([ofAlice, ofBob, ofEve]));
  expect(new Set(one.events.map(({ data }) => data["id"]))).toEqual(new Set([ofAlice]));
  for (const stream of [...Object.values(streams), one]) stream.cut();
});

test("a reader that is cut off again and again misses nothing and sees nothing twice", async () => {
  const from = lastSeq(hub.home);
  const workerId = await registerWorker(hub);
  const seen: StreamedEvent[] = [];
  let lastEventId = String(from);
  let isOver = false;
  const load = (async () => {
    for (let round = 0; round < 40; round++) {
      const token = round % 4 === 3 ? tokens.bob : tokens.alice;
      await completedJob(hub, { token, workerId });
    }
    isOver = true;
  })();
  const expected = () => loggedAfter(from, (event) => event.owner_id === "alice");
  await eventually("the reader has caught up", async () => {
    const stream = await openEventStream(hub, "/jobs/events", { token: tokens.alice, lastEventId });
    await eventually("something new or the end", () => stream.events.length >= 5 || isOver);
    if (isOver) await eventually("the rest", () => seen.length + stream.events.length >= expected().length);
    stream.cut();
    seen.push(...stream.events);
    lastEventId = seen.at(-1)?.id ?? lastEventId;
    return isOver && seen.length >= expected().length;
  });
  await load;
  expect(shown(seen)).toEqual(expected());
});

test("a reader that was cut off before its first event resumes from where it began", async () => {
  const first = await openEventStream(hub, "/jobs/events", { token: tokens.alice });
  const lastEventId = await eventually("it knows its place", () => first.lastId());
  first.cut();
  const { id } = await submitJob(hub, { token: tokens.alice });
  const second = await openEventStream(hub, "/jobs/events", { token: tokens.alice, lastEventId });
  await second.until("what happened in between", ({ data }) => data["id"] === id);
  second.cut();
});

test("more history than one page is replayed whole", async () => {
  const from = lastSeq(hub.home);
  const jobs = Array(700).fill({ type: "exec", run: { kind: "exec", argv: ["true"] } });
  await hub.must("POST", "/jobs/batch", { token: tokens.eve, body: { jobs } });
  await hub.must("POST", "/jobs/batch", { token: tokens.eve, body: { jobs } });
  const stream = await openEventStream(hub, "/jobs/events", { token: tokens.eve, lastEventId: String(from) });
  await eventually("all are there", () => stream.events.length >= 1400);
  expect(shown(stream.events)).toEqual(loggedAfter(from, (event) => event.owner_id === "eve"));
  stream.cut();
});

test("a position that is not in the log causes a reset, and the stream continues from now", async () => {
  const checkReset = async (lastEventId: string) => {
    const stream = await openEventStream(hub, "/jobs/events", { token: tokens.alice, lastEventId });
    await stream.until("reset", ({ event }) => event === "reset");
    const { id } = await submitJob(hub, { token: tokens.alice });
    await stream.until("what is new", ({ data }) => data["id"] === id);
    expect(stream.events.map(({ event }) => event)).toEqual(["reset", "job:created"]);
    stream.cut();
  };
  await checkReset("999999999");
  await hub.store.pruneEvents({ throughSeq: 20, limit: 20 });
  await checkReset("10");
  const edge = await openEventStream(hub, "/jobs/events", { token: tokens.alice, lastEventId: "20" });
  await eventually("history is replayed", () => edge.events.length > 0);
  expect(edge.events.some(({ event }) => event === "reset")).toBe(false);
  edge.cut();
});

test("a bad Last-Event-ID is refused", async () => {
  for (const bad of ["x", "-1", "1.5", "1 OR 1=1"]) {
    const answer = await hub.call("GET", "/jobs/events", {
      token: tokens.alice,
      headers: { "Last-Event-ID": bad },
    });
    expect(answer, bad).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  }
});

test("the stream is open without a token only if the hub allows it, and never with a wrong token", async () => {
  const open = await startMemoryHub({ WRIT_PUBLIC_EVENTS: "true" });
  try {
    const stream = await openEventStream(open, "/jobs/events");
    const { id } = await submitJob(open);
    await stream.until("anybody's job", ({ data }) => data["id"] === id);
    stream.cut();
    expect((await open.call("GET", "/jobs/events", { token: "sk_user_wrong" })).status).toBe(401);
    expect((await open.call("GET", "/jobs")).status).toBe(401);
  } finally {
    await open.stop();
  }
});

async function jobOf(id: string) {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ worker_id: string }>();
}
