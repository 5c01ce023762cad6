import { expect, test } from "vitest";
import { ratiosOf, shownRatios, timeJobs } from "../support/broker-troubles.ts";

/** Ten minutes, or what WRIT_LONG_MINUTES says for a quick look. */
const minutes = Number(process.env["WRIT_LONG_MINUTES"] ?? 10);

test(`F-49: over ${minutes} minutes without a broker, the slowest hundredth of jobs is no slower`, async () => {
  const endMs = performance.now() + minutes * 60_000;
  const times = await timeJobs(() => performance.now() < endMs);
  const ratios = ratiosOf(times, 0.99);
  console.log(
    `F-49: ${times.none.length} jobs each; p99, broker away, silent, refusing : none = ${shownRatios(ratios)}; median ${shownRatios(ratiosOf(times, 0.5))}`,
  );
  // A busy machine moves a p99 by itself; a job that waited for a broker would take hundreds of times as long.
  for (const ratio of ratios) expect(ratio).toBeLessThan(2);
});
