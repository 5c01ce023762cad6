import { expect, test } from "vitest";
import type { Clock } from "../runtime/clock.ts";
import { silentLogger } from "../runtime/logger.ts";
import { SandboxWatch } from "./sandbox-watch.ts";

/** A host that answers what it is told to, and a clock whose timers are fired by hand. */
function stage(level: "strict" | "best-effort", answers: (string | null)[]) {
  const timers: { fn: () => void; ms: number }[] = [];
  const setTimer = (fn: () => void, ms: number) => {
    timers.push({ fn, ms });
    return { cancel: () => {} };
  };
  const changes: boolean[] = [];
  const watch = new SandboxWatch({
    clock: { setTimer } as unknown as Clock,
    logger: silentLogger,
    sandbox: { level, recheck: async () => answers.shift() ?? null },
    onChange: (isDown) => changes.push(isDown),
  });
  const fire = async () => {
    timers.shift()!.fn();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { watch, timers, changes, fire };
}

test("a strict host that lacks something claims no process from the start", async () => {
  const { watch, changes } = stage("strict", ["no seccomp"]);
  await watch.start();
  expect(changes).toEqual([true]);
});

test("the host is tried again, less often each time, until it passes", async () => {
  const { watch, timers, changes, fire } = stage("strict", ["a", "b", "c", null]);
  await watch.start();
  const waits: number[] = [];
  while (timers.length > 0) {
    waits.push(timers[0]!.ms);
    await fire();
  }
  expect(waits).toEqual([1000, 2000, 4000]);
  expect(changes).toEqual([true, false]);
});

test("many jobs that fail at once are one pause", async () => {
  const { watch, timers, changes } = stage("best-effort", []);
  await watch.start();
  for (let i = 0; i < 5; i++) watch.down("the launcher is gone");
  expect(changes).toEqual([true]);
  expect(timers).toHaveLength(1);
});

test("after the end nothing is tried any more", async () => {
  const { watch, timers, changes } = stage("strict", []);
  watch.stop();
  watch.down("late");
  expect(timers).toHaveLength(0);
  expect(changes).toEqual([]);
});
