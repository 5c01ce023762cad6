import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import type { CommitNotice, EventFilter } from "../../store/event-store.ts";
import { EventFeed } from "./event-feed.ts";

/** A log in memory that counts how often it is read. */
class Log {
  readonly events: LoggedEvent[] = [];
  reads = 0;
  /** The most events that one read has examined. */
  lookedAtMost = 0;
  /** The number of reads for one tenant only. */
  ownReads = 0;
  /** How many of the next reads fail. */
  failures = 0;
  #heard: (notice: CommitNotice) => void = () => {};

  onCommit(listener: (notice: CommitNotice) => void): () => void {
    this.#heard = listener;
    return () => {};
  }

  async eventRange() {
    return { first: Math.min(1, this.events.length), last: this.events.length };
  }

  async getJob() {
    return null;
  }

  async readEvents({ afterSeq, throughSeq, limit, tenantId }: EventFilter): Promise<LoggedEvent[]> {
    this.reads++;
    this.lookedAtMost = Math.max(this.lookedAtMost, (throughSeq ?? this.events.length) - afterSeq);
    if (tenantId !== undefined) this.ownReads++;
    if (this.failures-- > 0) throw new Error("the disk is away");
    const found = this.events.filter((one) => one.seq > afterSeq && one.seq <= (throughSeq ?? one.seq));
    return found.filter((one) => tenantId === undefined || one.tenantId === tenantId).slice(0, limit);
  }

  commit(...tenants: string[]): void {
    for (const tenantId of tenants) {
      const seq = this.events.length + 1;
      const rest = { jobSeq: 1, ownerId: "u", details: {}, origin: null, ts: seq };
      this.events.push({ seq, event: "JOB_CREATED", jobId: `j${seq}`, tenantId, ...rest });
    }
    this.#heard({
      lastSeq: this.events.length,
      ready: [],
      handedOver: [],
      signals: [],
      workers: [],
      jobs: [],
      observed: [],
      isAll: false,
    });
  }
}

async function feedOf(log: Log): Promise<EventFeed> {
  const feed = new EventFeed(log, systemClock);
  await feed.start();
  return feed;
}

/** Follows until this many events have arrived. */
async function take(feed: EventFeed, count: number, filter: { afterSeq: number; tenantId?: string }) {
  const seen: LoggedEvent[] = [];
  for await (const page of feed.follow(filter, new AbortController().signal)) {
    seen.push(...page);
    if (seen.length >= count) break;
  }
  return seen;
}

test("A13: readers that keep up share one read of the store and the same events", async () => {
  const log = new Log();
  const feed = await feedOf(log);
  const readers = Array.from({ length: 100 }, () => take(feed, 3, { afterSeq: 0 }));
  await new Promise(setImmediate);
  log.reads = 0;
  log.commit("acme", "globex", "acme");
  const seen = await Promise.all(readers);
  expect(log.reads).toBe(1);
  for (const events of seen) expect(events).toEqual(seen[0]);
  expect(seen.every((events) => events[0] === seen[0]![0])).toBe(true);
});

test("a reader sees only its tenant's events, both when it keeps up and from far behind", async () => {
  const log = new Log();
  const feed = await feedOf(log);
  const live = take(feed, 3_000, { afterSeq: 0, tenantId: "acme" });
  for (let count = 0; count < 1_000; count++) {
    log.commit("acme", "globex", "acme", "acme");
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  const resumed = take(feed, 2_999, { afterSeq: 1, tenantId: "acme" });
  const expected = log.events.filter(({ tenantId }) => tenantId === "acme").map(({ seq }) => seq);
  expect((await live).map(({ seq }) => seq)).toEqual(expected);
  expect((await resumed).map(({ seq }) => seq)).toEqual(expected.slice(1));
});

test("a reader from far behind examines 20,000 events at a time, however few concern it", async () => {
  const log = new Log();
  const feed = await feedOf(log);
  log.commit("acme", ...Array<string>(50_000).fill("globex"), "acme");
  await new Promise(setImmediate);
  log.lookedAtMost = 0;
  const seen = await take(feed, 2, { afterSeq: 0, tenantId: "acme" });
  expect(seen.map(({ seq }) => seq)).toEqual([1, 50_002]);
  expect(log.lookedAtMost).toBe(20_000);
});

test("A13: events of other tenants cost a reader nothing, however many they are", async () => {
  const log = new Log();
  const feed = await feedOf(log);
  const idle = take(feed, 1, { afterSeq: 0, tenantId: "acme" });
  for (let count = 0; count < 3_000; count++) {
    log.commit("globex");
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  log.ownReads = 0;
  log.commit("acme");
  expect((await idle).map(({ seq }) => seq)).toEqual([3_001]);
  expect(log.ownReads).toBe(0);
});

test("a failed read loses nothing: readers read again by themselves", async () => {
  const log = new Log();
  const feed = await feedOf(log);
  const reader = take(feed, 2, { afterSeq: 0, tenantId: "acme" });
  await new Promise(setImmediate);
  log.failures = 1;
  log.commit("acme", "globex", "acme");
  expect((await reader).map(({ seq }) => seq)).toEqual([1, 3]);
});
