import { expect, test } from "vitest";
import type { Clock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { SandboxWatch } from "./sandbox-watch.ts";

/** A host with prepared answers, and a clock whose timers the test fires. */
function stage(obstacle: string | null, answers: (string | null)[]) {
  let nowMs = 0;
  const timers: { fn: () => void; ms: number }[] = [];
  const setTimer = (fn: () => void, ms: number) => {
    timers.push({ fn, ms });
    return { cancel: () => {} };
  };
  const changes: (string | null)[] = [];
  const watch = new SandboxWatch({
    clock: { setTimer, monotonicMs: () => nowMs } as unknown as Clock,
    logger: silentLogger,
    sandbox: { obstacle, recheck: async () => answers.shift() ?? null },
    onChange: (change) => changes.push(change),
  });
  const fire = async () => {
    const { fn, ms } = timers.shift()!;
    nowMs += ms;
    fn();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { watch, timers, changes, fire, pass };
}

test("a strict host with a missing part claims no process from the start", async () => {
  const { watch, changes } = stage("no seccomp", []);
  await watch.start();
  expect(changes).toEqual(["SANDBOX_UNAVAILABLE: no seccomp"]);
});

test("the host is tried again, less often each time, until it passes", async () => {
  const { watch, timers, changes, fire } = stage("a", ["b", "c", null]);
  await watch.start();
  const waits: number[] = [];
  while (timers.length > 0) {
    waits.push(timers[0]!.ms);
    await fire();
  }
  expect(waits).toEqual([1000, 2000, 4000]);
  expect(changes).toEqual(["SANDBOX_UNAVAILABLE: a", null]);
});

test("many jobs that fail at once cause one pause", async () => {
  const { watch, timers, changes } = stage(null, []);
  await watch.start();
  for (let i = 0; i < 5; i++) watch.down("the launcher is gone");
  expect(changes).toEqual(["the launcher is gone"]);
  expect(timers).toHaveLength(1);
});

test("the host is not tried again after the stop", async () => {
  const { watch, timers, changes } = stage(null, []);
  await watch.stop();
  watch.down("late");
  expect(timers).toHaveLength(0);
  expect(changes).toEqual([]);
});

test("B3: a host that passes and fails again pauses longer each time, until it was fine for a while", async () => {
  const { watch, timers, fire, pass } = stage(null, []);
  await watch.start();
  const waits: number[] = [];
  for (let i = 0; i < 4; i++) {
    watch.down("cpu: no controller");
    waits.push(timers[0]!.ms);
    await fire();
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000]);
  pass(61_000);
  watch.down("cpu: no controller");
  expect(timers[0]!.ms).toBe(1000);
});
