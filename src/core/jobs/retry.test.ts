import { describe, expect, it } from "vitest";
import { type FailureClass, failureClasses } from "./failure.ts";
import { type JobRecord, type NewJob, newJobRecord } from "./job.ts";
import { decideRetry } from "./retry.ts";

function aJob(parts: Partial<JobRecord>): JobRecord {
  const timeoutSec = parts.timeoutSec ?? 300;
  const job = newJobRecord({ maxAttempts: 3, attemptsChosen: false, timeoutSec, terms: null } as NewJob, 1);
  return { ...job, attempts: 1, ...parts };
}

describe("a retry", () => {
  it("is never given to a class that has none", () => {
    for (const code of ["SECURITY_VIOLATION", "INVALID_JOB", "CANCELLED", "EXPIRED"] as const) {
      expect(decideRetry(aJob({}), { code }, 1)).toEqual({ kind: "failed", reason: code });
    }
  });

  it("is never given beyond max_attempts, whatever the class would allow", () => {
    expect(decideRetry(aJob({ attempts: 3 }), { code: "WORKER_DISCONNECTED" }, 1)).toEqual({
      kind: "quarantined",
      reason: "WORKER_DISCONNECTED_RETRY_EXHAUSTED",
    });
  });

  it("is never given beyond what the class allows, whatever max_attempts would", () => {
    const job = aJob({ maxAttempts: 10, attempts: 2, retryCounts: { TIMEOUT: 1 } });
    expect(decideRetry(job, { code: "TIMEOUT" }, 1).kind).toBe("quarantined");
    expect(decideRetry(job, { code: "EXECUTION_ERROR" }, 1).kind).toBe("retry");
  });

  it("C3: counts only in the total if the job chose it, whatever the class would allow", () => {
    for (const code of ["TIMEOUT", "EXECUTION_ERROR", "WORKER_DISCONNECTED"] as const) {
      const job = (attempts: number) =>
        aJob({
          maxAttempts: 5,
          attemptsChosen: true,
          attempts,
          retryCounts: attempts === 1 ? {} : { [code]: attempts - 1 },
        });
      const kinds = [1, 2, 3, 4, 5].map((attempts) => decideRetry(job(attempts), { code }, 1).kind);
      expect(kinds).toEqual(["retry", "retry", "retry", "retry", "quarantined"]);
    }
  });

  it("C3: is not given to a class that has none, even if the job chose many attempts", () => {
    const job = aJob({ maxAttempts: 100, attemptsChosen: true });
    expect(decideRetry(job, { code: "INVALID_JOB" }, 1)).toEqual({ kind: "failed", reason: "INVALID_JOB" });
  });

  it("C3: waits an hour at most, however many attempts the job chose", () => {
    const chosen = { maxAttempts: 100, attemptsChosen: true };
    const delay = (used: number) =>
      decideRetry(aJob({ ...chosen, retryCounts: { TIMEOUT: used } }), { code: "TIMEOUT" }, 1);
    expect(delay(58)).toMatchObject({ delayMs: 59 * 60_000 });
    expect(delay(98)).toMatchObject({ delayMs: 3_600_000 });
  });

  it("was never meant for a job of one attempt, which ends plainly", () => {
    const job = aJob({ maxAttempts: 1 });
    expect(decideRetry(job, { code: "EXECUTION_ERROR" }, 1)).toEqual({
      kind: "failed",
      reason: "EXECUTION_ERROR",
    });
  });

  const delays: [FailureClass, number[]][] = [
    ["TIMEOUT", [60_000]],
    ["EXECUTION_ERROR", [30_000, 60_000]],
    ["WORKER_DISCONNECTED", [15_000, 30_000, 45_000]],
  ];
  for (const [code, expected] of delays) {
    it(`after ${code} waits longer each time`, () => {
      const waits = expected.map((_, used) => {
        const decision = decideRetry(aJob({ maxAttempts: 10, retryCounts: { [code]: used } }), { code }, 1);
        return decision.kind === "retry" ? decision.delayMs : null;
      });
      expect(waits).toEqual(expected);
      expect(expected).toHaveLength(failureClasses[code].retries);
    });
  }

  it("waits a scaled time in tests", () => {
    expect(decideRetry(aJob({}), { code: "TIMEOUT" }, 0.001)).toMatchObject({ delayMs: 60 });
  });

  it("doubles the time after a timeout, to an hour at most, but never below what was asked for", () => {
    const timeouts = [300, 2_000, 3_600, 7_200].map((timeoutSec) => {
      const job = aJob({ timeoutSec, documentTimeoutSec: timeoutSec });
      const decision = decideRetry(job, { code: "TIMEOUT" }, 1);
      return decision.kind === "retry" ? decision.timeoutSec : null;
    });
    expect(timeouts).toEqual([600, 3_600, 3_600, 7_200]);
    expect(decideRetry(aJob({}), { code: "EXECUTION_ERROR" }, 1)).toMatchObject({ timeoutSec: 300 });
  });
});
