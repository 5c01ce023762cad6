import { describe, expect, it } from "vitest";
import type { Change } from "./change.ts";
import { decideEffects, type Effects, submitEffects } from "./effects.ts";
import { aJob, failure, fence, leaseMs, nowMs, result, rules } from "./job.testing.ts";
import { isActive, type JobRecord, type JobState, jobStates } from "./job.ts";

const origin = { userId: "u1", ipAddress: null, userAgent: null, endpoint: null, method: null };
const claim = { act: "claim", workerId: "w1", tokenHash: "hash" } as const;

function effectsOf(job: JobRecord, change: Change): Effects {
  const outcome = decideEffects(job, change, { rules, origin });
  if (outcome.kind !== "moved") throw new Error(`nothing moved: ${JSON.stringify(outcome)}`);
  return outcome.effects;
}

describe("a change that does nothing", () => {
  it("has no effects, only its reason", () => {
    const refused = decideEffects(aJob("completed"), { act: "cancel" }, { rules, origin });
    expect(refused).toMatchObject({ kind: "refused", code: "STATE_CONFLICT" });
    const again = aJob("running", { cancelRequestedAt: nowMs });
    expect(decideEffects(again, { act: "cancel" }, { rules, origin })).toEqual({ kind: "duplicate" });
  });
});

describe("readiness", () => {
  it("is never for a job that is not pending", () => {
    expect(effectsOf(aJob("pending"), claim)).toMatchObject({
      readiness: "never",
      notices: { isReady: false },
    });
    expect(effectsOf(aJob("running"), result).readiness).toBe("never");
  });

  it("is later until a retry's delay is over, and now when a person puts it back", () => {
    expect(effectsOf(aJob("running"), failure)).toMatchObject({
      readiness: "later",
      notices: { isReady: false },
    });
    expect(effectsOf(aJob("failed"), { act: "retry" })).toMatchObject({
      readiness: "now",
      notices: { isReady: true },
    });
  });
});

describe("the moment a job is due", () => {
  it("is the end of its lease while it is held, and none once it has ended", () => {
    expect(effectsOf(aJob("pending"), claim).dueAt).toBe(nowMs + leaseMs);
    expect(effectsOf(aJob("running"), result).dueAt).toBeNull();
  });
});

describe("events", () => {
  it("carry the number within the job, where the call came from, and what the job was after it", () => {
    const { events, after } = effectsOf(aJob("running", { eventCount: 3 }), {
      ...failure,
      code: "SECURITY_VIOLATION",
    });
    expect(events.map(({ event, jobSeq }) => [jobSeq, event])).toEqual([
      [4, "JOB_FAILED"],
      [5, "SECURITY_VIOLATION"],
    ]);
    expect(events[0]).toMatchObject({
      tenantId: "acme",
      ownerId: "u1",
      ts: nowMs,
      origin,
      details: { status: "failed", worker_id: "w1", attempt: 1 },
    });
    expect(after.eventCount).toBe(5);
  });

  it("are none for a renewal, which no reader of the log needs", () => {
    expect(effectsOf(aJob("running"), { act: "renew", fence })).toMatchObject({
      events: [],
      counts: null,
      notices: { isLogged: false, isReady: false, signal: null },
    });
  });
});

describe("counts", () => {
  const moves: [JobState, Change][] = [
    ["pending", claim],
    ["assigned", { act: "start", fence, isolation: null }],
    ["running", result],
    ["running", failure],
    ["running", { act: "disconnect" }],
    ["pending", { act: "cancel" }],
    ["quarantined", { act: "retry" }],
  ];
  it.each(moves)("of a job that was %s move as the states do: $act", (from, change) => {
    const { counts, after } = effectsOf(aJob(from), change);
    const difference = (is: (state: JobState) => boolean) => Number(is(after.status)) - Number(is(from));
    expect(counts).toMatchObject({
      from,
      to: after.status,
      jobs: 0,
      pending: difference((state) => state === "pending"),
      active: difference(isActive),
    });
    expect(jobStates).toContain(counts?.to);
  });

  it("count a success and a failure for the worker, and neither for a job that was given back or stopped", () => {
    const ofWorker = (state: JobState, change: Change) => effectsOf(aJob(state), change).counts?.worker;
    expect(ofWorker("pending", claim)).toEqual({ id: "w1", active: 1, completed: 0, failed: 0 });
    expect(ofWorker("assigned", { act: "start", fence, isolation: null })).toBeNull();
    expect(ofWorker("running", result)).toEqual({ id: "w1", active: -1, completed: 1, failed: 0 });
    expect(ofWorker("running", failure)).toEqual({ id: "w1", active: -1, completed: 0, failed: 1 });
    const givenBack = { id: "w1", active: -1, completed: 0, failed: 0 };
    const stopped = aJob("running", { cancelRequestedAt: nowMs });
    expect(effectsOf(stopped, failure).counts?.worker).toEqual(givenBack);
    expect(ofWorker("running", { act: "release", fence, reason: "drain" })).toEqual(givenBack);
    expect(ofWorker("running", { act: "recall", reason: "revoked" })).toEqual(givenBack);
  });
});

describe("the worker is notified", () => {
  const signalOf = (state: JobState, change: Change, parts: Partial<JobRecord> = {}) =>
    effectsOf(aJob(state, parts), change).notices.signal;

  it("nothing of what it has reported itself, or of a job that it does not hold", () => {
    expect(signalOf("running", result)).toBeNull();
    expect(signalOf("running", failure)).toBeNull();
    expect(signalOf("pending", { act: "cancel" })).toBeNull();
    expect(signalOf("pending", { act: "due" }, { queueTtlSec: 1 })).toBeNull();
  });

  it("of a cancel, and of a lease that it has lost", () => {
    expect(signalOf("running", { act: "cancel" })).toEqual({ workerId: "w1", signal: "cancel" });
    const lost = { workerId: "w1", signal: "lost" };
    expect(signalOf("running", { act: "disconnect" })).toEqual(lost);
    expect(signalOf("running", { act: "recall", reason: "revoked" })).toEqual(lost);
    expect(signalOf("running", { act: "due" }, { leaseExpiresAt: nowMs })).toEqual(lost);
  });
});

describe("a new job", () => {
  it("is counted, logged as its first event, and announced to workers when it can run now", () => {
    const effects = submitEffects(aJob("pending", { createdAt: nowMs, runAt: nowMs }), origin);
    expect(effects).toMatchObject({
      after: { eventCount: 1 },
      readiness: "now",
      dueAt: null,
      events: [{ event: "JOB_CREATED", jobSeq: 1, ts: nowMs, origin }],
      counts: { from: null, to: "pending", jobs: 1, pending: 1, active: 0, worker: null },
      notices: { isLogged: true, isReady: true, signal: null },
    });
  });

  it("waits for its time, and is due when it has waited too long", () => {
    const job = aJob("pending", { createdAt: nowMs, runAt: nowMs + 1, queueTtlSec: 10 });
    expect(submitEffects(job, null)).toMatchObject({
      readiness: "later",
      dueAt: nowMs + 10_001,
      notices: { isReady: false },
    });
  });
});
