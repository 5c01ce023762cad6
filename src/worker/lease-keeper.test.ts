import { afterEach, expect, test } from "vitest";
import { WritError } from "../core/errors.ts";
import { systemClock } from "../runtime/clock.ts";
import { type HeartbeatAnswer, type KeeperMessage, type KeptLease, LeaseKeeper } from "./lease-keeper.ts";

let keeper: LeaseKeeper | undefined;
afterEach(() => keeper?.stop());

function lease(key: string, changes: Partial<KeptLease> = {}): KeptLease {
  const renewedAtMs = systemClock.monotonicMs();
  return { key, jobId: key, attempt: 1, token: "t", pid: 7, renewedAtMs, leaseMs: 300, ...changes };
}

function setUp(answer: (jobIds: string[]) => Partial<HeartbeatAnswer> | Error) {
  const messages: KeeperMessage[] = [];
  const sent: string[][] = [];
  const killed: number[] = [];
  let onNews = (): void => {};
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => (onNews = resolve));
  };
  keeper = new LeaseKeeper({
    clock: systemClock,
    random: () => 0.5,
    heartbeatMs: 10_000,
    killGroup: (pid) => killed.push(pid),
    tell: (message) => {
      messages.push(message);
      onNews();
    },
    async send(jobs) {
      const ids = jobs.map(({ job_id }) => job_id);
      sent.push(ids);
      const given = answer(ids);
      if (given instanceof Error) throw given;
      return { cancel: [], lost: [], drain: false, lease_ms: 300, ...given };
    },
  });
  keeper.start();
  return { keeper, messages, sent, killed, until };
}

test("a lease that cannot be renewed in time is fenced: its process is killed by the thread itself", async () => {
  const { keeper, killed, messages, until } = setUp(() => new WritError("HUB_UNREACHABLE", "away"));
  const since = systemClock.monotonicMs();
  keeper.update({ hold: [lease("a")], drop: [], pids: [] });
  await until(() => messages.some(({ kind }) => kind === "fenced"));
  expect(killed).toEqual([7]);
  expect(messages.at(-1)).toEqual({ kind: "fenced", keys: ["a"] });
  expect(systemClock.monotonicMs() - since).toBeLessThan(300);
});

test("a process that is started after its lease was fenced is killed as well", async () => {
  const { keeper, killed, messages, until } = setUp(() => new WritError("HUB_UNREACHABLE", "away"));
  keeper.update({ hold: [lease("a", { pid: 0 })], drop: [], pids: [] });
  await until(() => messages.some(({ kind }) => kind === "fenced"));
  keeper.update({ hold: [], drop: [], pids: [["a", 9]] });
  expect(killed).toEqual([9]);
});

test("leases are renewed well before their end, so nothing is fenced while the hub answers", async () => {
  const { keeper, killed, sent, messages, until } = setUp(() => ({}));
  keeper.update({ hold: [lease("a")], drop: [], pids: [] });
  await until(() => sent.filter((ids) => ids.includes("a")).length >= 5);
  expect(killed).toEqual([]);
  expect(messages.every(({ kind }) => kind === "answer")).toBe(true);
});

test("what the hub calls lost is killed at once and told by its attempt", async () => {
  const { keeper, killed, messages, until } = setUp((ids) => (ids.includes("job") ? { lost: ["job"] } : {}));
  keeper.update({ hold: [lease("job:2", { jobId: "job", attempt: 2 })], drop: [], pids: [] });
  await until(() => messages.some((message) => message.kind === "answer" && message.lost.length > 0));
  expect(killed).toContain(7);
  expect(messages.at(-1)).toMatchObject({ lost: ["job:2"] });
});

test("a job that was dropped is neither renewed nor fenced", async () => {
  const { keeper, killed, sent, until } = setUp(() => ({}));
  keeper.update({ hold: [lease("a"), lease("b", { pid: 8 })], drop: [], pids: [] });
  keeper.update({ hold: [], drop: ["a"], pids: [] });
  await until(() => sent.filter((ids) => ids.includes("b")).length >= 2);
  expect(sent.flat()).not.toContain("a");
  expect(killed).toEqual([]);
});
