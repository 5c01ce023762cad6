import { TestHub } from "../src/testing/index.ts";
import { figure } from "./_figures.ts";

/**
 * How long a hub inside a test takes to start, to run one job and to stop: the first in a process, and the median of those after it.
 * Usage: npm run bench -- testing
 * Why: ADR 0118.
 */
const rounds = 20;
const times: { startMs: number; jobMs: number; stopMs: number }[] = [];
for (let round = 0; round <= rounds; round++) {
  const begunAt = performance.now();
  const hub = await new TestHub().handle("noop", () => null).start();
  const startedAt = performance.now();
  await hub.writ.submit({ type: "noop" });
  const ranAt = performance.now();
  await hub.stop();
  times.push({ startMs: startedAt - begunAt, jobMs: ranAt - startedAt, stopMs: performance.now() - ranAt });
}
const [first, ...warm] = times;
figure("the first start in a process", first!.startMs, "ms");
for (const name of ["startMs", "jobMs", "stopMs"] as const)
  figure(`warm: ${name.slice(0, -2)}`, median(warm.map((one) => one[name])), "ms");

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
