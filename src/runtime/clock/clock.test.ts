import { expect, test } from "vitest";
import { systemClock } from "./clock.ts";

test("a sleep that is aborted rejects with the reason, before and during it", async () => {
  const reason = new Error("stop");
  await expect(systemClock.sleep(1000, AbortSignal.abort(reason))).rejects.toBe(reason);
  const stop = new AbortController();
  const sleeping = systemClock.sleep(100_000, stop.signal);
  stop.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
});

test("a cancelled timer does not fire, and one that is longer than Node can wait does not fire at once", async () => {
  const fired: string[] = [];
  systemClock.setTimer(() => fired.push("cancelled"), 1).cancel();
  const long = systemClock.setTimer(() => fired.push("long"), 2 ** 40);
  await new Promise<void>((resolve) => systemClock.setTimer(resolve, 5));
  await systemClock.sleep(0);
  long.cancel();
  expect(fired).toEqual([]);
});
