import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { openDeadline } from "./deadline.ts";

test("a signal has one listener for any number of waits, and ends all that are not over", () => {
  const { signal, abort } = openSignal();
  const waits = Array.from({ length: 1_000 }, () => openDeadline(systemClock, { signal }));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  const [first, ...others] = waits;
  first!.release();
  abort("enough");
  expect(first!.signal.reason).not.toBe("enough");
  expect(new Set(others.map((wait) => wait.signal.reason))).toEqual(new Set(["enough"]));
  expect(openDeadline(systemClock, { signal }).signal.reason).toBe("enough");
});

function openSignal() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: string) => controller.abort(reason) };
}
