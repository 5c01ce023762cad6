import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { warningLogger } from "../../runtime/log/logger.ts";
import { ClaimGate } from "../claims/claim-gate.ts";
import { HubLink } from "./hub-link.ts";
import { HubPresence } from "./hub-presence.ts";

type LinkDeps = ConstructorParameters<typeof HubLink>[0];

/** A link to a hub that answers these calls, of a worker that trusts a key and does not drain. */
function linkWith({ calls, ...deps }: Pick<LinkDeps, "clock" | "logger"> & { calls: object }): HubLink {
  return new HubLink({
    ...deps,
    random: () => 1,
    presence: new HubPresence(deps.logger, deps.clock),
    calls: calls as never,
    keys: { hasRoots: true, drop: async () => false, trusted: () => ["a key"], names: () => [] } as never,
    registration: () => ({}) as never,
    gate: new ClaimGate(),
    onRefused() {},
    onKeysLost() {},
    onCommand() {},
  });
}

test("C2: a hub that does not answer is reported within seconds, and once", async () => {
  const clock = handClock();
  const said: string[] = [];
  const logger = warningLogger((sentence) => said.push(sentence));
  const answer = Promise.withResolvers<never>();
  const link = linkWith({ clock, logger, calls: { listKeys: () => answer.promise } });
  const started = link.start();
  await clock.pass(2_999);
  expect(said).toEqual([]);
  await clock.pass(60_000);
  expect(said).toEqual(["the hub has not answered yet; still trying"]);
  answer.reject(new Error("not a hub"));
  await expect(started).rejects.toThrow("not a hub");
});

test("a blocked worker connects less and less often, at least once a minute", async () => {
  const clock = handClock();
  const logger = warningLogger(() => {});
  let registrations = 0;
  const link = linkWith({
    clock,
    logger,
    calls: {
      listKeys: async () => ({ keys: [] }),
      register: async () => {
        registrations++;
      },
      openCommands: async () => {
        throw new WritError("WORKER_BLOCKED", "worker w1 is blocked");
      },
      removeWorker: async () => {},
    },
  });
  await link.start();
  for (let second = 0; second < 600; second++) await clock.pass(1_000);
  const early = registrations;
  for (let second = 0; second < 600; second++) await clock.pass(1_000);
  expect(early).toBeLessThan(20);
  expect(registrations - early).toBe(10);
  await link.stop();
});

/**
 * A link whose command stream stays open until the link closes it. `fail` has the error for the next call of a name.
 */
function openLink() {
  const clock = handClock();
  const logger = warningLogger(() => {});
  const calls: string[] = [];
  const fail: Record<string, Error | undefined> = {};
  const note = (name: string): void => {
    calls.push(name);
    const error = fail[name];
    fail[name] = undefined;
    if (error !== undefined) throw error;
  };
  const link = linkWith({
    clock,
    logger,
    calls: {
      listKeys: async () => {
        note("listKeys");
        return { keys: [] };
      },
      register: async () => note("register"),
      openCommands: async (signal: AbortSignal) => {
        note("openCommands");
        return { body: silentUntil(signal) };
      },
      removeWorker: async () => {},
    },
  });
  return { link, clock, calls, fail };
}

/** Time for what is under way to set its timers, and for these to fire. */
async function pass(clock: ReturnType<typeof handClock>): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await clock.pass(1_000);
}

async function* silentUntil(signal: AbortSignal): AsyncGenerator<Buffer> {
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

test.each([
  ["what it can run", "register", (link: HubLink) => link.registerAgain()],
  ["the hub's keys", "listKeys", (link: HubLink) => link.refreshKeys()],
] as const)("a failed call about %s is repeated although the stream stays open", async (_, name, act) => {
  const { link, clock, calls, fail } = openLink();
  await link.start();
  await expect.poll(() => calls.at(-1)).toBe("openCommands");
  calls.length = 0;
  fail[name] = new WritError("STORE_UNAVAILABLE", "the hub cannot use its database");
  await act(link);
  await expect.poll(() => pass(clock).then(() => calls.length)).toBeGreaterThan(3);
  expect(calls).toEqual([name, "listKeys", "register", "openCommands"]);
  await link.stop();
});

test("a registration that the hub refuses for good leaves the stream open", async () => {
  const { link, clock, calls, fail } = openLink();
  await link.start();
  await expect.poll(() => calls.at(-1)).toBe("openCommands");
  calls.length = 0;
  fail["register"] = new WritError("PERMISSION_DENIED", "not for this worker");
  await link.registerAgain();
  for (let turns = 0; turns < 10; turns++) await pass(clock);
  expect(calls).toEqual(["register"]);
  await link.stop();
});
