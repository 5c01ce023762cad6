import { describe, expect, it } from "vitest";
import { type Change, decideChange, type Fence } from "./change.ts";
import { aJob, failure, fence, leaseMs, nowMs, result, rules } from "./job.testing.ts";
import { type JobRecord, jobStates } from "./job.ts";
import type { Outcome } from "./outcome.ts";
import { isAllowed, leadsTo } from "./states.ts";

function patchOf(outcome: Outcome): Partial<JobRecord> {
  if (outcome.kind !== "moved") throw new Error(`nothing moved: ${JSON.stringify(outcome)}`);
  return outcome.patch;
}

const changes: Change[] = [
  { act: "claim", workerId: "w1", tokenHash: "hash" },
  { act: "refuse" },
  { act: "start", fence, isolation: null },
  { act: "renew", fence },
  { act: "progress", fence, progress: "1" },
  { act: "agent", fence, calls: [{ call: 1, tool: "Read", title: "a.txt", status: "running" }] },
  { act: "release", fence, reason: "drain" },
  result,
  failure,
  { act: "disconnect" },
  { act: "reject", fence, reason: "not authentic" },
  { act: "recall", reason: "the key is revoked" },
  { act: "cancel" },
  { act: "retry" },
];

describe("every change in every state", () => {
  for (const change of changes) {
    for (const state of jobStates) {
      const allowed = change.act !== "due" && isAllowed(change.act, state);
      it(`${change.act} in ${state} is ${allowed ? "done" : "refused"}`, () => {
        const job = aJob(state);
        const before = structuredClone(job);
        const outcome = decideChange(job, change, rules);
        expect(job).toEqual(before);
        if (allowed) {
          expect(leadsTo(change.act as "claim", state, patchOf(outcome).status!)).toBe(true);
        } else if (change.act === "result" && state === "completed") {
          expect(outcome).toEqual({ kind: "duplicate" });
        } else {
          const code = "fence" in change ? "LEASE_LOST" : "STATE_CONFLICT";
          expect(outcome).toMatchObject({ kind: "refused", code });
        }
      });
    }
  }
});

describe("O-20: the processes of a cancelled attempt are dead", () => {
  const stopped: Change = { act: "stopped", fence, exitCode: 143 };

  it("keeps the job in its state, with the exit code, and renews the lease", () => {
    const job = { ...aJob("running"), cancelRequestedAt: nowMs };
    expect(decideChange(job, stopped, rules)).toMatchObject({
      kind: "moved",
      patch: { status: "running", exitCode: 143, leaseExpiresAt: nowMs + leaseMs },
      events: [{ event: "JOB_STOPPED", details: { exit_code: 143 } }],
    });
    expect(decideChange({ ...job, exitCode: 143 }, stopped, rules)).toEqual({ kind: "duplicate" });
  });

  it("is refused for a job that was not cancelled, and for one that has ended", () => {
    expect(decideChange(aJob("running"), stopped, rules)).toMatchObject({ code: "STATE_CONFLICT" });
    expect(decideChange(aJob("failed"), stopped, rules)).toMatchObject({ code: "LEASE_LOST" });
  });
});

describe("a recall", () => {
  it("charges and counts nothing, and the token is void with it", () => {
    const job = aJob("running");
    const patch = patchOf(decideChange(job, { act: "recall", reason: "the key is revoked" }, rules));
    expect(patch).toMatchObject({
      status: "pending",
      attempts: job.attempts - 1,
      leaseTokenHash: null,
      leaseKeyId: null,
    });
    expect(patch).not.toHaveProperty("releases");
    expect(patch).not.toHaveProperty("failHistory");
  });

  it("ends a job whose cancel was asked for", () => {
    const job = { ...aJob("running"), cancelRequestedAt: 1 };
    const patch = patchOf(decideChange(job, { act: "recall", reason: "the key is revoked" }, rules));
    expect(patch).toMatchObject({ status: "failed", failCode: "CANCELLED" });
  });
});

describe("the end of an attempt that was never announced", () => {
  const claimed = { claimedAt: nowMs - 500, queueTtlSec: 60 };
  const eventsOf = (outcome: Outcome) => (outcome.kind === "moved" ? outcome.events : []);

  it("has its start before it, at the worker's time", () => {
    const outcome = decideChange(aJob("assigned", claimed), { ...result, startedAt: nowMs - 40 }, rules);
    expect(patchOf(outcome)).toMatchObject({
      status: "completed",
      startedAt: nowMs - 40,
      queueTtlSec: null,
    });
    expect(eventsOf(outcome)).toMatchObject([
      { event: "JOB_STARTED", ts: nowMs - 40, details: { status: "running", worker_id: "w1" } },
      { event: "JOB_COMPLETED" },
    ]);
  });

  it("is tried again like any other, and does not expire in the queue meanwhile", () => {
    const outcome = decideChange(aJob("assigned", claimed), { ...failure, startedAt: nowMs - 40 }, rules);
    expect(patchOf(outcome)).toMatchObject({ status: "pending", startedAt: null, queueTtlSec: null });
    expect(eventsOf(outcome).map(({ event }) => event)).toEqual(["JOB_STARTED", "JOB_RETRYING"]);
  });

  it.each([
    ["before the claim", nowMs - 60_000, nowMs - 500],
    ["in the future", nowMs + 60_000, nowMs],
  ])("started between its claim and its end, even if the worker's clock says %s", (_, told, kept) => {
    const outcome = decideChange(aJob("assigned", claimed), { ...result, startedAt: told }, rules);
    expect(patchOf(outcome)).toMatchObject({ startedAt: kept });
  });

  it("keeps the start that was announced", () => {
    const running = aJob("running", { ...claimed, startedAt: nowMs - 100 });
    const outcome = decideChange(running, { ...result, startedAt: nowMs - 40 }, rules);
    expect(patchOf(outcome)).not.toHaveProperty("startedAt");
    expect(eventsOf(outcome).map(({ event }) => event)).toEqual(["JOB_COMPLETED"]);
  });

  it("has the time of its start, and no record of it, if only the length of its run is known", () => {
    const outcome = decideChange(aJob("assigned", claimed), { ...result, ranMs: 40 }, rules);
    expect(patchOf(outcome)).toMatchObject({ status: "completed", startedAt: nowMs - 40 });
    expect(eventsOf(outcome).map(({ event }) => event)).toEqual(["JOB_COMPLETED"]);
    const again = decideChange(aJob("assigned", claimed), { ...failure, ranMs: 40 }, rules);
    expect(patchOf(again)).toMatchObject({ status: "pending", startedAt: null });
  });

  it.each([
    ["longer than it was claimed", 60_000, nowMs - 500],
    ["less than no time", -60_000, nowMs],
  ])("started between its claim and its end, even if it ran %s", (_, ranMs, kept) => {
    const outcome = decideChange(aJob("assigned", claimed), { ...result, ranMs }, rules);
    expect(patchOf(outcome)).toMatchObject({ startedAt: kept });
  });

  it("started with its claim if no report has the time of its start", () => {
    const outcome = decideChange(aJob("assigned", claimed), result, rules);
    expect(patchOf(outcome)).toMatchObject({ status: "completed", startedAt: nowMs - 500 });
    expect(eventsOf(outcome).map(({ event }) => event)).toEqual(["JOB_COMPLETED"]);
    const failed = decideChange(aJob("assigned", { ...claimed, maxAttempts: 1 }), failure, rules);
    expect(patchOf(failed)).toMatchObject({ status: "failed", startedAt: nowMs - 500 });
    const refused = decideChange(aJob("assigned", claimed), { ...failure, code: "INVALID_JOB" }, rules);
    expect(patchOf(refused)).not.toHaveProperty("startedAt");
    const again = decideChange(aJob("assigned", claimed), failure, rules);
    expect(patchOf(again)).toMatchObject({ status: "pending", startedAt: null });
  });
});

describe("A7: a job that is allowed one attempt", () => {
  const once = { maxAttempts: 1 };
  const release = (reason: string) => ({ act: "release", fence, reason }) as const;
  const lost = { status: "failed", failCode: "WORKER_DISCONNECTED" };

  it("has failed when it is given back or recalled after its process has begun", () => {
    const job = aJob("running", once);
    expect(patchOf(decideChange(job, release("the worker is stopping"), rules))).toMatchObject(lost);
    expect(patchOf(decideChange(job, { act: "recall", reason: "the hub is locked" }, rules))).toMatchObject(
      lost,
    );
  });

  it("waits again when nothing was executed", () => {
    const given = { status: "pending" };
    expect(patchOf(decideChange(aJob("assigned", once), release("drain"), rules))).toMatchObject(given);
    const uncaged = release("SANDBOX_UNAVAILABLE: no launcher");
    expect(patchOf(decideChange(aJob("running", once), uncaged, rules))).toMatchObject(given);
    const unstarted = release("NOT_STARTED: the worker is stopping");
    expect(patchOf(decideChange(aJob("running", once), unstarted, rules))).toMatchObject(given);
  });

  it("differs from one that is allowed two", () => {
    const job = aJob("running", { maxAttempts: 2 });
    expect(patchOf(decideChange(job, release("drain"), rules))).toMatchObject({ status: "pending" });
  });
});

describe("the fence", () => {
  const others: [string, Partial<Fence>][] = [
    ["another worker", { workerId: "w2" }],
    ["an older attempt", { attempt: 0 }],
    ["another token", { tokenHash: "other" }],
  ];
  for (const [who, part] of others) {
    it(`refuses ${who}`, () => {
      const change = { ...result, fence: { ...fence, ...part } };
      expect(decideChange(aJob("running"), change, rules)).toMatchObject({ code: "LEASE_LOST" });
      expect(decideChange(aJob("completed"), change, rules)).toMatchObject({ code: "LEASE_LOST" });
    });
  }

  it("refuses from the very millisecond in which the lease ends", () => {
    const job = aJob("running", { leaseExpiresAt: nowMs });
    expect(decideChange(job, { act: "renew", fence }, rules)).toMatchObject({ code: "LEASE_LOST" });
    const alive = aJob("running", { leaseExpiresAt: nowMs + 1 });
    expect(decideChange(alive, { act: "renew", fence }, rules).kind).toBe("moved");
  });

  it("does not look at the clock while renewals are refused, but at attempt and token", () => {
    const job = aJob("running", { leaseExpiresAt: nowMs });
    const lenient = { ...rules, areRenewalsRefused: true };
    for (const change of [result, { act: "renew" as const, fence }]) {
      expect(decideChange(job, change, lenient).kind).toBe("moved");
      const others = { ...change, fence: { ...fence, tokenHash: "other" } };
      expect(decideChange(job, others, lenient)).toMatchObject({ code: "LEASE_LOST" });
    }
  });

  it("accepts an administrator's report that names only the worker", () => {
    const byName = { workerId: "w1", attempt: null, tokenHash: null };
    expect(decideChange(aJob("running"), { ...result, fence: byName }, rules).kind).toBe("moved");
  });
});

describe("a result", () => {
  it("A16: is a duplicate if it is the same, whatever its key, and else a conflict, also under the same key", () => {
    const completed = aJob("completed");
    const other = { ...result, result: "2", resultHash: "h2" };
    for (const resultKey of ["k1", "k2", null]) {
      expect(decideChange(completed, { ...result, resultKey }, rules).kind).toBe("duplicate");
      expect(decideChange(completed, { ...other, resultKey }, rules)).toMatchObject({
        code: "RESULT_CONFLICT",
      });
    }
    expect(decideChange({ ...completed, resultHash: "by an older hub" }, result, rules).kind).toBe(
      "duplicate",
    );
  });

  it("that arrives after a cancel is kept as partial and never as the result", () => {
    const job = aJob("running", { cancelRequestedAt: nowMs });
    const patch = patchOf(decideChange(job, result, rules));
    expect(patch).toMatchObject({ status: "failed", failCode: "CANCELLED", partialResult: "1" });
    expect(patch.result).toBeUndefined();
  });
});

describe("a claim", () => {
  it("is refused before the job's time", () => {
    const job = aJob("pending", { runAt: nowMs + 1 });
    expect(decideChange(job, changes[0]!, rules)).toMatchObject({ code: "STATE_CONFLICT" });
  });

  it("raises the fence and what max_attempts counts, and clears what the last attempt left", () => {
    const job = aJob("pending", { attempt: 4, attempts: 1, exitCode: 1, progress: "9" });
    expect(patchOf(decideChange(job, changes[0]!, rules))).toMatchObject({
      attempt: 5,
      attempts: 2,
      exitCode: null,
      progress: null,
      leaseExpiresAt: nowMs + leaseMs,
      deadlineAt: nowMs + 306_000,
    });
  });

  it("sets no deadline for a job without a timeout", () => {
    const job = aJob("pending", { timeoutSec: 0 });
    expect(patchOf(decideChange(job, changes[0]!, rules)).deadlineAt).toBeNull();
  });
});

describe("a failure", () => {
  it("B14: cannot be one that only the hub decides, unless the job was cancelled", () => {
    for (const code of ["CANCELLED", "EXPIRED"] as const) {
      const change = { ...failure, code };
      expect(decideChange(aJob("running"), change, rules)).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringMatching(`^code: only the hub ends a job as ${code}`),
      });
      const cancelled = aJob("running", { cancelRequestedAt: nowMs });
      expect(patchOf(decideChange(cancelled, change, rules))).toMatchObject({ failCode: "CANCELLED" });
    }
  });

  it("of security is in the log twice: as the end of the attempt and as the violation", () => {
    const violation = { ...failure, code: "SECURITY_VIOLATION", detail: "PATH_TRAVERSAL_ATTEMPT" } as const;
    expect(decideChange(aJob("running"), violation, rules)).toMatchObject({
      patch: { status: "failed" },
      events: [{ event: "JOB_FAILED" }, { event: "PATH_TRAVERSAL_ATTEMPT" }],
    });
  });

  it("never shortens the history", () => {
    const entry = { reason: "x", code: "TIMEOUT", detail: null, worker_id: "w0", attempt: 1, ts: 1 } as const;
    const job = aJob("running", { failHistory: [entry], attempt: 2 });
    const change = { ...failure, fence: { ...fence, attempt: 2 } };
    const { failHistory } = patchOf(decideChange(job, change, rules));
    expect(failHistory).toEqual([entry, expect.objectContaining({ attempt: 2, worker_id: "w1" })]);
  });
});

describe("a job's moment", () => {
  const due = { act: "due" } as const;

  it("is refused while nothing is due", () => {
    for (const state of jobStates) {
      expect(decideChange(aJob(state), due, rules)).toMatchObject({ code: "STATE_CONFLICT" });
    }
  });

  it("expires a job that has waited for too long", () => {
    const waiting = aJob("pending", { queueTtlSec: 10, createdAt: nowMs - 10_000 });
    expect(patchOf(decideChange(waiting, due, rules))).toMatchObject({ failCode: "EXPIRED" });
  });

  it("expires no job whose time to run has not come for that long", () => {
    const waiting = aJob("pending", { queueTtlSec: 10, createdAt: nowMs - 60_000, runAt: nowMs - 9_999 });
    expect(decideChange(waiting, due, rules)).toMatchObject({ code: "STATE_CONFLICT" });
    const later = { ...rules, nowMs: nowMs + 1 };
    expect(patchOf(decideChange(waiting, due, later))).toMatchObject({ failCode: "EXPIRED" });
  });

  it("never expires a job that was started once, or that a person has put back", () => {
    const ttl = { queueTtlSec: 10, createdAt: nowMs - 10_000 };
    const started = aJob("assigned", ttl);
    const patches = [
      patchOf(decideChange(started, { act: "start", fence, isolation: null }, rules)),
      patchOf(decideChange(aJob("failed", { ...ttl, failCode: "EXPIRED" }), { act: "retry" }, rules)),
    ];
    for (const patch of patches) {
      const waiting = { ...aJob("pending", ttl), ...patch, status: "pending" as const, leaseExpiresAt: null };
      expect(decideChange(waiting, due, rules)).toMatchObject({ code: "STATE_CONFLICT" });
    }
  });

  it("loses the worker when the lease ends first, and times out when the deadline does", () => {
    const silent = aJob("running", { leaseExpiresAt: nowMs });
    expect(patchOf(decideChange(silent, due, rules)).retryCounts).toEqual({ WORKER_DISCONNECTED: 1 });
    const late = aJob("running", { deadlineAt: nowMs });
    expect(patchOf(decideChange(late, due, rules))).toMatchObject({
      retryCounts: { TIMEOUT: 1 },
      timeoutSec: 600,
      leaseTokenHash: null,
    });
  });

  it("ends a cancelled job for good, whatever was due", () => {
    const cancelRequestedAt = nowMs - leaseMs - 5_000;
    const job = aJob("running", { cancelRequestedAt });
    expect(patchOf(decideChange(job, due, rules))).toMatchObject({ status: "failed", failCode: "CANCELLED" });
  });
});

describe("a retry by a person", () => {
  it("starts the counts again and keeps the fence and the history", () => {
    const job = aJob("quarantined", { attempts: 3, retryCounts: { TIMEOUT: 1 }, timeoutSec: 600 });
    const patch = patchOf(decideChange(job, { act: "retry" }, rules));
    expect(patch).toMatchObject({ status: "pending", attempts: 0, retryCounts: {}, timeoutSec: 300 });
    expect(patch.attempt).toBeUndefined();
    expect(patch.failHistory).toBeUndefined();
  });

  it("is refused after a security violation", () => {
    const job = aJob("failed", { failCode: "SECURITY_VIOLATION" });
    expect(decideChange(job, { act: "retry" }, rules)).toMatchObject({ code: "STATE_CONFLICT" });
  });
});

it("O-23 a final failure ends the job with its plain code, however many attempts are left", () => {
  const job = aJob("running", { attempts: 1, maxAttempts: 5, attemptsChosen: true });
  const outcome = decideChange(job, { ...failure, detail: "CARD_DECLINED", isFinal: true }, rules);
  expect(outcome).toMatchObject({
    kind: "moved",
    patch: {
      status: "failed",
      failCode: "EXECUTION_ERROR",
      failReason: "EXECUTION_ERROR",
      failDetail: "CARD_DECLINED",
    },
    events: [{ event: "JOB_FAILED" }],
  });
});
