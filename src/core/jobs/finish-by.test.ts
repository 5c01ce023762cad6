import { describe, expect, it } from "vitest";
import { decideChange } from "./change.ts";
import { decideEffects } from "./effects.ts";
import { aJob, failure, fence, leaseMs, nowMs, result, rules } from "./job.testing.ts";
import type { JobState } from "./job.ts";

const due = { act: "due" } as const;
/** A job whose time is over now. */
const overdue = (state: JobState, parts = {}) =>
  aJob(state, { terms: '{"finish_within_sec":60}', createdAt: nowMs - 60_000, ...parts });

describe("a job that has to finish within a time", () => {
  it("is left alone until then", () => {
    for (const state of ["pending", "running"] as const) {
      const early = decideChange(overdue(state, { createdAt: nowMs - 59_999 }), due, rules);
      expect(early).toMatchObject({ code: "STATE_CONFLICT" });
    }
  });

  it("expires while it waits, even for its retry", () => {
    const waiting = overdue("pending", { attempt: 1, runAt: nowMs + 9_000 });
    expect(decideChange(waiting, due, rules)).toMatchObject({
      patch: { status: "failed", failCode: "EXPIRED", failReason: "EXPIRED" },
      events: [{ event: "JOB_FAILED", details: { reason: "did not finish within finish_within_sec" } }],
    });
  });

  it("is told to stop while a worker has it, and expires whatever comes then", () => {
    for (const state of ["assigned", "running"] as const) {
      const moved = decideEffects(overdue(state), due, { rules, origin: null });
      expect(moved).toMatchObject({
        effects: {
          after: { status: state, cancelRequestedAt: nowMs },
          events: [{ event: "JOB_CANCEL_REQUESTED", details: { by: "hub" } }],
          notices: { signal: { workerId: "w1", signal: "cancel" } },
        },
      });
      if (moved.kind !== "moved") continue;
      const told = moved.effects.after;
      const late = { ...rules, nowMs: nowMs + leaseMs + 5_000 };
      for (const outcome of [
        decideChange(told, result, rules),
        decideChange(told, failure, rules),
        decideChange(told, { act: "release", fence, reason: "drain" }, rules),
        decideChange(told, due, late),
      ])
        expect(outcome).toMatchObject({ patch: { status: "failed", failCode: "EXPIRED" } });
    }
  });

  it("is cancelled as ever by a person who comes first", () => {
    const cancelled = overdue("running", { cancelRequestedAt: nowMs - 1 });
    expect(decideChange(cancelled, result, rules)).toMatchObject({ patch: { failCode: "CANCELLED" } });
  });

  it("is not put back by a person afterwards, and is before", () => {
    const refusal = { code: "STATE_CONFLICT", message: expect.stringContaining("submit the job again") };
    expect(decideChange(overdue("failed"), { act: "retry" }, rules)).toMatchObject(refusal);
    const early = overdue("failed", { createdAt: nowMs - 1 });
    expect(decideChange(early, { act: "retry" }, rules)).toMatchObject({ patch: { status: "pending" } });
  });
});
