import { afterEach, beforeEach, expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { type HandClock, handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { type HeartbeatAnswer, type KeeperMessage, type KeptLease, LeaseKeeper } from "./lease-keeper.ts";

const leaseMs = 300;
/** A sixth of the lease before its end. */
const fenceMs = 250;

let clock: HandClock;
let keeper: LeaseKeeper | undefined;
beforeEach(() => {
  clock = handClock();
});
afterEach(() => keeper?.stop());

function lease(key: string, changes: Partial<KeptLease> = {}): KeptLease {
  const renewedAtMs = clock.monotonicMs();
  const onDisconnect = "stop";
  return { key, jobId: key, attempt: 1, token: "t", pid: 7, renewedAtMs, leaseMs, onDisconnect, ...changes };
}

function setUp(answer: (jobIds: string[]) => Partial<HeartbeatAnswer> | Error, hubAwayMs = 4 * leaseMs) {
  const messages: KeeperMessage[] = [];
  const sent: string[][] = [];
  const usages: unknown[] = [];
  const killed: number[] = [];
  const untold: number[] = [];
  keeper = new LeaseKeeper({
    clock,
    random: () => 0.5,
    heartbeatMs: 10_000,
    hubAwayMs,
    killGroup(pid) {
      killed.push(pid);
      if (!messages.some((message) => message.kind === "fenced" || isLoss(message))) untold.push(pid);
    },
    tell: (message) => messages.push(message),
    async send(jobs) {
      const ids = jobs.map(({ job_id }) => job_id);
      sent.push(ids);
      usages.push(jobs.map(({ usage }) => usage));
      const given = answer(ids);
      if (given instanceof Error) throw given;
      return { cancel: [], lost: [], drain: false, lease_ms: leaseMs, ...given };
    },
  });
  keeper.start();
  return { keeper, messages, sent, usages, killed, untold };
}

function isLoss(message: KeeperMessage): boolean {
  return message.kind === "answer" && message.lost.length > 0;
}

const away = () => new WritError("HUB_UNREACHABLE", "away");

test("a lease that cannot be renewed is fenced before its end, and the thread itself kills its process", async () => {
  const { keeper, killed, untold, messages } = setUp(away);
  keeper.update({ hold: [lease("a")], drop: [], pids: [] });
  await clock.pass(fenceMs - 1);
  expect(killed).toEqual([]);
  await clock.pass(1);
  expect(killed).toEqual([7]);
  expect(untold).toEqual([]);
  expect(messages).toContainEqual({ kind: "fenced", keys: ["a"] });
});

test("a process that is started after its lease was fenced is killed as well", async () => {
  const { keeper, killed } = setUp(away);
  keeper.update({ hold: [lease("a", { pid: 0 })], drop: [], pids: [] });
  await clock.pass(fenceMs);
  keeper.update({ hold: [], drop: [], pids: [["a", 9]] });
  expect(killed).toEqual([9]);
});

test("B2: a job that may continue outlives its lease while the hub is away, and the first answer renews its lease", async () => {
  let isAway = true;
  const { keeper, killed, messages } = setUp(() => (isAway ? away() : {}));
  keeper.update({ hold: [lease("a", { onDisconnect: "keep" })], drop: [], pids: [] });
  await clock.pass(3 * leaseMs);
  expect(killed).toEqual([]);
  expect(messages.filter(({ kind }) => kind === "overdue")).toEqual([{ kind: "overdue", keys: ["a"] }]);
  isAway = false;
  await clock.pass(leaseMs);
  isAway = true;
  await clock.pass(3 * leaseMs);
  expect(killed).toEqual([]);
  expect(messages.filter(({ kind }) => kind === "overdue")).toHaveLength(2);
});

test("B2: a job that may continue is killed when the hub is away for too long", async () => {
  const { keeper, killed, untold, messages } = setUp(away);
  keeper.update({ hold: [lease("a", { onDisconnect: "keep" })], drop: [], pids: [] });
  await clock.pass(4 * leaseMs - 1);
  expect(killed).toEqual([]);
  await clock.pass(1);
  expect(killed).toEqual([7]);
  expect(untold).toEqual([]);
  expect(messages).toContainEqual({ kind: "fenced", keys: ["a"] });
});

test("B2: a limit that is shorter than the lease does not shorten the lease", async () => {
  const { keeper, killed } = setUp(away, 0);
  keeper.update({ hold: [lease("a", { onDisconnect: "keep" })], drop: [], pids: [] });
  await clock.pass(fenceMs - 1);
  expect(killed).toEqual([]);
  await clock.pass(1);
  expect(killed).toEqual([7]);
});

test("B2: a job that continues without a hub is killed at once when the hub returns and reports it lost", async () => {
  let isAway = true;
  const { keeper, killed } = setUp((ids) => (isAway ? away() : { lost: ids }));
  keeper.update({ hold: [lease("a", { onDisconnect: "keep" })], drop: [], pids: [] });
  await clock.pass(2 * leaseMs);
  isAway = false;
  await clock.pass(leaseMs / 3);
  expect(killed).toEqual([7]);
});

test("leases are renewed well before their end, so no lease is fenced while the hub answers", async () => {
  const { keeper, killed, sent, messages } = setUp(() => ({}));
  keeper.update({ hold: [lease("a")], drop: [], pids: [] });
  await clock.pass(5 * leaseMs);
  expect(sent.filter((ids) => ids.includes("a")).length).toBeGreaterThanOrEqual(10);
  expect(killed).toEqual([]);
  expect(messages.every(({ kind }) => kind === "answer")).toBe(true);
});

test("an attempt that the hub reports as lost is announced and then killed at once", async () => {
  const { keeper, killed, untold, messages } = setUp((ids) => (ids.includes("job") ? { lost: ["job"] } : {}));
  keeper.update({ hold: [lease("job:2", { jobId: "job", attempt: 2 })], drop: [], pids: [] });
  await clock.pass(leaseMs / 3);
  expect(killed).toContain(7);
  expect(untold).toEqual([]);
  expect(messages.at(-1)).toMatchObject({ lost: ["job:2"] });
});

test("B2: of two attempts of a job only the older one is lost; the next heartbeat decides about the other", async () => {
  const { keeper, killed } = setUp((ids) => (ids.length === 2 ? { lost: ["job"] } : {}));
  const attempts = [1, 2].map((attempt) =>
    lease(`job:${attempt}`, { jobId: "job", attempt, pid: 10 + attempt }),
  );
  keeper.update({ hold: attempts, drop: [], pids: [] });
  await clock.pass(leaseMs / 3);
  expect(new Set(killed)).toEqual(new Set([11]));
  keeper.update({ hold: [], drop: ["job:1"], pids: [] });
  await clock.pass(3 * leaseMs);
  expect(new Set(killed)).toEqual(new Set([11]));
});

test("a job that was dropped is neither renewed nor fenced", async () => {
  const { keeper, killed, sent } = setUp(() => ({}));
  keeper.update({ hold: [lease("a"), lease("b", { pid: 8 })], drop: [], pids: [] });
  keeper.update({ hold: [], drop: ["a"], pids: [] });
  await clock.pass(2 * leaseMs);
  expect(sent.flat()).toContain("b");
  expect(sent.flat()).not.toContain("a");
  expect(killed).toEqual([]);
});

test("a heartbeat contains the last known usage of each process", async () => {
  const { keeper, usages } = setUp(() => ({}));
  keeper.update({ hold: [lease("a"), lease("b")] });
  await clock.pass(1);
  keeper.update({
    usages: [
      ["a", { cpu_ms: 5 }],
      ["gone", { cpu_ms: 9 }],
    ],
  });
  await clock.pass(leaseMs);
  expect(usages.at(-1)).toEqual([{ cpu_ms: 5 }, undefined]);
});
