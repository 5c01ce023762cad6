import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideChange } from "../jobs/change.ts";
import { aJob, failure, fence, rules } from "../jobs/job.testing.ts";
import type { JobRecord } from "../jobs/job.ts";
import { decideRetry, type FailedAttempt } from "../jobs/retry.ts";
import { attemptsOf, chanceOf, policyDelayMs, type RetryPolicy } from "./retry-policy.ts";

function withPolicy(retry: unknown, parts: Partial<JobRecord> = {}): JobRecord {
  return aJob("running", { terms: JSON.stringify({ retry }), maxAttempts: 9, ...parts });
}

function decide(retry: unknown, failed: FailedAttempt, parts: Partial<JobRecord> = {}) {
  return decideRetry(withPolicy(retry, parts), failed, 1);
}

describe("a job with a retry policy", () => {
  it("is not tried again after a failure that the policy leaves out, and keeps the plain code", () => {
    const left: [RetryPolicy, FailedAttempt][] = [
      [{ not_on: ["CARD_DECLINED"] }, { code: "EXECUTION_ERROR", detail: "CARD_DECLINED" }],
      [{ not_on: [2] }, { code: "EXECUTION_ERROR", exitCode: 2 }],
      [{ not_on: ["TIMEOUT"] }, { code: "TIMEOUT", detail: "IDLE_TIMEOUT" }],
      [{ on: [75] }, { code: "EXECUTION_ERROR", exitCode: 1 }],
      [{ on: [137] }, { code: "TIMEOUT", exitCode: 137 }],
      [{ on: ["OOM_KILLED"] }, { code: "EXECUTION_ERROR" }],
      [{ max: 0 }, { code: "EXECUTION_ERROR" }],
    ];
    for (const [policy, failed] of left)
      expect(decide(policy, failed)).toEqual({ kind: "failed", reason: failed.code });
  });

  it("is tried again after a failure that it names, or does not leave out", () => {
    const kept: [RetryPolicy, FailedAttempt][] = [
      [{ on: [75] }, { code: "EXECUTION_ERROR", exitCode: 75 }],
      [{ on: ["OOM_KILLED"] }, { code: "EXECUTION_ERROR", detail: "OOM_KILLED", exitCode: 137 }],
      [{ not_on: [2] }, { code: "EXECUTION_ERROR", exitCode: 1 }],
      [{}, { code: "TIMEOUT" }],
    ];
    for (const [policy, failed] of kept) expect(decide(policy, failed).kind).toBe("retry");
  });

  it("is a dead letter when timeouts and errors together have used it up", () => {
    const used = { retryCounts: { TIMEOUT: 1, EXECUTION_ERROR: 1, WORKER_DISCONNECTED: 3 } };
    const reason = "EXECUTION_ERROR_RETRY_EXHAUSTED";
    expect(decide({ max: 2 }, { code: "EXECUTION_ERROR" }, used)).toEqual({ kind: "quarantined", reason });
    expect(decide({ max: 3 }, { code: "EXECUTION_ERROR" }, used).kind).toBe("retry");
    expect(decide({ max: 9 }, { code: "TIMEOUT" }, { attempts: 9 }).kind).toBe("quarantined");
  });

  it("has three tries of its own for lost workers, as every job", () => {
    const lost = { code: "WORKER_DISCONNECTED" } as const;
    expect(decide({ max: 0 }, lost)).toMatchObject({ kind: "retry", delayMs: 15_000 });
    expect(decide({ max: 9 }, lost, { retryCounts: { WORKER_DISCONNECTED: 3 } }).kind).toBe("quarantined");
    expect([attemptsOf({}), attemptsOf({ max: 0 }), attemptsOf({ max: 99 })]).toEqual([6, 4, 100]);
  });

  it("waits as the policy says, and its time limit stays", () => {
    const delays = (policy: RetryPolicy) =>
      [0, 1, 2, 3].map((used) => {
        const decision = decide(
          { max: 9, ...policy },
          { code: "TIMEOUT" },
          { retryCounts: { TIMEOUT: used } },
        );
        if (decision.kind !== "retry") return null;
        expect(decision.timeoutSec).toBe(300);
        return decision.delayMs / 1000;
      });
    expect(delays({})).toEqual([30, 60, 90, 120]);
    expect(delays({ backoff: "fixed", delay_sec: 7 })).toEqual([7, 7, 7, 7]);
    expect(delays({ backoff: "exponential", delay_sec: 10, max_delay_sec: 45 })).toEqual([10, 20, 40, 45]);
    expect(delays({ delay_sec: 0 })).toEqual([0, 0, 0, 0]);
  });

  it("waits as long as its attempt asked for, at its cost, and no longer in scaled time", () => {
    expect(decide({}, { code: "EXECUTION_ERROR", retryInSec: 5 })).toMatchObject({
      count: 1,
      delayMs: 5_000,
    });
    const scaled = decideRetry(withPolicy({}), { code: "EXECUTION_ERROR", retryInSec: 5 }, 0.1);
    expect(scaled).toMatchObject({ delayMs: 500 });
    expect(decide({ max: 0 }, { code: "EXECUTION_ERROR", retryInSec: 5 }).kind).toBe("failed");
    const plain = aJob("running");
    const moved = decideChange(plain, { ...failure, fence, retryInSec: 5 }, rules);
    expect(moved).toMatchObject({ kind: "moved", patch: { status: "pending", runAt: rules.nowMs + 5_000 } });
  });

  it("is never later than the policy says, nor earlier than its jitter, and always the same", () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.nat(99),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (id, attempt, jitter) => {
          const chance = chanceOf(id, attempt);
          expect(chance).toBe(chanceOf(id, attempt));
          const delayMs = policyDelayMs({ backoff: "fixed", jitter }, attempt + 1, chance);
          expect(delayMs).toBeLessThanOrEqual(30_000);
          expect(delayMs).toBeGreaterThanOrEqual(30_000 * (1 - jitter));
        },
      ),
    );
  });

  it("comes back apart from others that failed with it", () => {
    const chances = Array.from({ length: 1_000 }, (_, index) => chanceOf(`0199aaaa-${index}`, 1));
    const tenths = Array.from(
      { length: 10 },
      (_, tenth) => chances.filter((chance) => Math.floor(chance * 10) === tenth).length,
    );
    for (const count of tenths) expect(count).toBeGreaterThan(50);
  });

  it.each(["5", "null", "{", '{"retry":5}', '{"retry":{"max":"x","delay_sec":{},"on":7,"jitter":"y"}}'])(
    "whose terms somebody has replaced by %s still has a next step",
    (terms) => {
      const decision = decideRetry(aJob("running", { terms }), { code: "TIMEOUT" }, 1);
      expect(decision.kind).toBe("retry");
      expect(Number.isFinite(decision.kind === "retry" && decision.delayMs)).toBe(true);
    },
  );
});
