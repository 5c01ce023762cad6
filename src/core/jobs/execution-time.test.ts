import { describe, expect, it } from "vitest";
import { decideChange } from "./change.ts";
import { executionTimeMs, shownUsage } from "./execution-time.ts";
import { aJob } from "./job.testing.ts";

const rules = { nowMs: 1_000_000, leaseMs: 60_000, backoffScale: 1 };
const report = { exitCode: 0, isolation: null, usage: null, outputFiles: null, receipt: null };
const result = { act: "result" as const, result: "1", resultHash: "h", resultKey: null, ...report };

/** An attempt that was claimed 300 s ago and started 200 s ago, and has ended by now. */
function timeOf(ranMs: number | undefined, usage: string | null = null) {
  const job = aJob("running", { claimedAt: 700_000, startedAt: 800_000, leaseExpiresAt: 2_000_000 });
  const { workerId, attempt, leaseTokenHash: tokenHash } = job;
  const change = { ...result, usage, fence: { workerId: workerId!, attempt, tokenHash } };
  const outcome = decideChange(job, ranMs === undefined ? change : { ...change, ranMs }, rules);
  if (outcome.kind !== "moved") throw new Error(outcome.kind);
  const after = { ...job, ...outcome.patch };
  return { ms: executionTimeMs(after), usage: after.usage, shown: shownUsage(after.usage) };
}

describe("O-47 the time that an attempt ran", () => {
  it("is the worker's if the hub was away when it ended, or when it started", () => {
    expect(timeOf(5_000).ms).toBe(5_000);
    expect(timeOf(290_000).ms).toBe(290_000);
  });

  it("is the hub's own if the worker reports none, about the same, or an impossible one", () => {
    for (const ranMs of [undefined, 199_500, -1, 300_001]) {
      expect(timeOf(ranMs, '{"cpu_ms":7}')).toEqual({
        ...{ ms: 200_000, usage: '{"cpu_ms":7}', shown: '{"cpu_ms":7}' },
      });
    }
  });

  it("is not part of the usage that is shown", () => {
    expect(timeOf(5_000, '{"cpu_ms":7}').shown).toBe('{"cpu_ms":7}');
    expect(timeOf(5_000).shown).toBeNull();
  });
});
