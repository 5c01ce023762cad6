import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../../core/events.ts";
import { systemClock as clock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { leadLost } from "../../store/database/hub-seat.ts";
import type { EventFilter } from "../../store/event-store.ts";
import { openSqliteStore } from "../../store/sqlite/open-store.ts";
import { failuresIn, silentFailures } from "../failure-log.testing.ts";
import { EventFeed } from "../services/event-feed.ts";
import { createResponder } from "./responder.ts";
import { WatchList } from "./watch-list.ts";

const failure: NewEvent = {
  event: "INVALID_SIGNATURE",
  ts: 1,
  tenantId: "acme",
  jobId: null,
  ownerId: null,
  details: {},
  origin: null,
};

test("the responder answers an event once that arrives while it reads the log", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-responder-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, clock);
  await feed.start();
  onTestFinished(async () => {
    await responder.stop();
    await feed.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  let hasCome = false;
  const readEvents = async (filter: EventFilter) => {
    // The second event arrives between the query for the log's end and the read.
    if (!hasCome && filter.kinds !== undefined) {
      hasCome = true;
      await store.recordEvents({ events: [failure] });
    }
    return store.readEvents(filter);
  };
  const deps = {
    store: { ...store, readEvents },
    feed,
    clock,
    logger: silentLogger,
    failures: silentFailures,
    channels: [],
  };
  const settings = { publicUrl: null };
  const responder = createResponder({ ...deps, settings, watched: new WatchList(clock) } as never);
  await responder.start();

  await store.recordEvents({ events: [failure] });
  await expect.poll(() => hasCome).toBe(true);
  await store.recordEvents({ events: [failure] });
  // The responder writes events of its own, so the number of the last of the three is not known in advance.
  const { last } = await store.eventRange();
  await expect.poll(async () => (await readPlace()).seq).toBeGreaterThanOrEqual(last);
  expect((await readPlace()).failures).toBe(3);

  async function readPlace() {
    const { seq, memory } = await store.getLogReader({ name: "responder" });
    return { seq, failures: JSON.parse(memory).failures.length };
  }
});

test("the responder answers an event once although recording its consequences failed at first", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-responder-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, clock);
  await feed.start();
  onTestFinished(async () => {
    await responder.stop();
    await feed.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  let refusals = 0;
  const recordEvents = async (input: { events: NewEvent[] }) => {
    if (input.events[0]?.event === "MONITORING_RAISED" && refusals++ === 0)
      throw new Error("the disk is full");
    return store.recordEvents(input);
  };
  const channels = [{ name: "webhook" }];
  const deps = {
    store: { ...store, recordEvents },
    feed,
    clock,
    logger: silentLogger,
    failures: silentFailures,
    channels,
  };
  const settings = { publicUrl: null };
  const responder = createResponder({ ...deps, settings, watched: new WatchList(clock) } as never);
  await responder.start();
  await store.recordEvents({ events: [failure] });

  const raised = () => store.readEvents({ afterSeq: 0, kinds: ["MONITORING_RAISED"], limit: 10 });
  await expect.poll(async () => (await raised()).length).toBe(1);
  await responder.stop();
  expect(refusals).toBe(2);
  const { memory } = await store.getLogReader({ name: "responder" });
  expect(JSON.parse(memory).failures).toHaveLength(1);
  const message = await store.nextMessage({ channel: "webhook" });
  await store.finishMessage({ id: message!.id, retryAt: null });
  expect(await store.nextMessage({ channel: "webhook" })).toBeNull();
});

test("O-41 a change of leader in the middle of a round is not logged as an error, and the round is not lost", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-responder-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, clock);
  await feed.start();
  onTestFinished(async () => {
    await feed.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (what: unknown) => logged.push(what) };
  const refusals = [leadLost(), new Error("the disk is full")];
  const advanceLogReader = async (input: Parameters<typeof store.advanceLogReader>[0]) => {
    const refusal = input.memory.includes('"ts":1') ? refusals.shift() : undefined;
    if (refusal !== undefined) throw refusal;
    return store.advanceLogReader(input);
  };
  const deps = {
    store: { ...store, advanceLogReader },
    feed,
    clock,
    logger,
    failures: failuresIn(logger as never),
    channels: [],
  };
  const settings = { publicUrl: null };
  const responder = createResponder({ ...deps, settings, watched: new WatchList(clock) } as never);
  await responder.start();
  await store.recordEvents({ events: [failure] });
  const { last } = await store.eventRange();
  await expect
    .poll(async () => (await store.getLogReader({ name: "responder" })).seq)
    .toBeGreaterThanOrEqual(last);
  await responder.stop();
  expect(logged).toEqual([{ err: new Error("the disk is full") }]);
});

test("alerts that a hub of an earlier version held back are sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-responder-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, clock);
  await feed.start();
  onTestFinished(async () => {
    await feed.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const range = { count: 2, firstSeq: 1, lastSeq: 2, ts: 1, tenantId: "acme" };
  const alert = {
    ...range,
    level: "HIGH",
    event: "STORE_CORRUPT",
    jobId: null,
    userId: null,
    ipAddress: null,
  };
  const held = { a: { until: 1, alert: { ...alert, details: {} } } };
  const budgets = { "tenant acme": { until: 1, sent: 10, more: { ...range, events: {} } } };
  const kept = { name: "responder", seq: 0, memory: JSON.stringify({ failures: [], held, budgets }) };
  await store.advanceLogReader({ ...kept, messages: [], waitingMax: 9, watch: [], nowMs: 1 });

  const deps = {
    store,
    feed,
    clock,
    logger: silentLogger,
    failures: silentFailures,
    channels: [{ name: "webhook" }],
  };
  const settings = { publicUrl: null };
  const responder = createResponder({ ...deps, settings, watched: new WatchList(clock) } as never);
  await responder.start();
  for (const subject of ["[HIGH] 2 more security events", "[HIGH] STORE_CORRUPT (2 times)"]) {
    await expect
      .poll(() => store.nextMessage({ channel: "webhook" }))
      .toMatchObject({ subject, body: expect.stringContaining("time: 1970-01-01T00:00:00.001Z\n") });
    await store.finishMessage({ id: (await store.nextMessage({ channel: "webhook" }))!.id, retryAt: null });
  }
  await responder.stop();
});
