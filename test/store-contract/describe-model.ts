import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureClasses } from "../../src/core/jobs/failure.ts";
import type { ClaimedJob } from "../../src/store/store.ts";
import * as model from "./model.ts";
import { failureOf, leaseMs, resultOf, Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

const step = fc.oneof(
  fc.record({
    kind: fc.constant("submit" as const),
    maxAttempts: fc.integer({ min: 1, max: 4 }),
    delayMs: fc.constantFrom(0, 0, 10_000),
    ttlSec: fc.constantFrom(null, null, 30),
    finishSec: fc.constantFrom(null, null, null, 100, 700),
    timeoutSec: fc.constantFrom(20, 300, 2_000),
    priority: fc.integer({ min: 1, max: 3 }),
    policy: fc.constantFrom(null, null, { max: 0, delaySec: 1 }, { max: 3, delaySec: 20 }),
  }),
  fc.record({ kind: fc.constant("claim" as const), max: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    kind: fc.constant("pass" as const),
    ms: fc.constantFrom(1_000, 15_000, 30_000, 60_000, 300_000),
  }),
  fc.record({ kind: fc.constant("restart" as const) }),
  fc.record({
    kind: fc.constantFrom("cancel" as const, "retry" as const, "hold" as const, "resume" as const),
    which: fc.nat(20),
  }),
  // Any claim ever made may still speak: most of them are stale, and that is the point.
  fc.record({
    kind: fc.constant("speak" as const),
    which: fc.nat(20),
    word: fc.constantFrom(
      "start",
      "renew",
      "progress",
      "release",
      "result 1",
      "result 2",
      "EXECUTION_ERROR",
      "TIMEOUT",
      "INVALID_JOB",
      "SECURITY_VIOLATION",
    ),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Runs the same random acts on the store and on the model; they must agree after each, and the invariants hold. */
export function describeModel(name: string, create: () => StoreUnderTest, runs: number): void {
  describe(`the state machine on ${name}`, () => {
    it("is the model's, step by step", { timeout: 300_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
          const run = new ModelRun(await Scene.open(create()));
          try {
            for (const taken of steps) await run.take(taken);
          } finally {
            await run.scene.end();
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

const decisions = { cancel: model.cancel, retry: model.retry, hold: model.hold, resume: model.resume };

class ModelRun {
  readonly scene: Scene;
  readonly jobs = new Map<string, model.ModelJob>();
  readonly priorities = new Map<string, number>();
  readonly claims: ClaimedJob[] = [];
  readonly claimsOf = new Map<string, number>();

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async take(taken: Step): Promise<void> {
    if (taken.kind === "submit") await this.#submit(taken);
    if (taken.kind === "claim") await this.#claim(taken.max);
    if (taken.kind === "pass") await this.#pass(taken.ms);
    if (taken.kind === "restart") await this.scene.reopen();
    if ("which" in taken && taken.kind !== "speak") await this.#order(taken.kind, taken.which);
    if (taken.kind === "speak") await this.#speak(taken.word, taken.which);
    await this.#check();
  }

  async #submit(taken: Extract<Step, { kind: "submit" }>): Promise<void> {
    const { nowMs } = this.scene;
    const { maxAttempts, timeoutSec, priority, policy, finishSec } = taken;
    const runAt = nowMs + taken.delayMs;
    const id = await this.scene.submit({
      maxAttempts,
      timeoutSec,
      priority,
      runAt,
      queueTtlSec: taken.ttlSec,
      terms: termsOf(policy, finishSec),
    });
    const ttlMs = taken.ttlSec === null ? null : taken.ttlSec * 1_000;
    const timeoutMs = timeoutSec * 1_000;
    const parts = {
      maxAttempts,
      runAt,
      ttlMs,
      ttlAt: ttlMs === null ? null : runAt + ttlMs,
      finishAt: finishSec === null ? null : nowMs + finishSec * 1_000,
      timeoutMs,
      documentTimeoutMs: timeoutMs,
      policy: policy && { max: policy.max, delayMs: policy.delaySec * 1_000 },
    };
    this.jobs.set(id, model.newModelJob(id, nowMs, parts));
    this.priorities.set(id, priority);
  }

  async #claim(max: number): Promise<void> {
    const { nowMs } = this.scene;
    const eligible = [...this.jobs.values()].filter(
      (job) => job.state === "pending" && job.runAt <= nowMs && !job.onHold,
    );
    const byPriority = (job: model.ModelJob) => this.priorities.get(job.id)!;
    const best = eligible
      .sort((a, b) => byPriority(b) - byPriority(a) || (a.id < b.id ? -1 : 1))
      .slice(0, max);
    const { claimed } = await this.scene.claimUpTo(max);
    expect(claimed.map(({ job }) => job.id)).toEqual(best.map(({ id }) => id));
    for (const given of claimed) {
      model.claim(this.jobs.get(given.job.id)!, given.leaseToken, nowMs);
      this.claims.push(given);
      this.claimsOf.set(given.job.id, (this.claimsOf.get(given.job.id) ?? 0) + 1);
    }
  }

  async #pass(ms: number): Promise<void> {
    this.scene.nowMs += ms;
    await this.scene.reap();
    for (const job of this.jobs.values()) model.tick(job, this.scene.nowMs);
  }

  async #order(act: keyof typeof decisions, which: number): Promise<void> {
    const job = pick([...this.jobs.values()], which);
    if (job === undefined) return;
    const answer = await this.scene.changeJob(job.id, { act });
    const expected = decisions[act](job, this.scene.nowMs);
    expect(answer.kind === "refused" ? answer.code : answer.kind).toBe(expected);
  }

  async #speak(word: string, which: number): Promise<void> {
    const given = pick(this.claims, which);
    if (given === undefined) return;
    const job = this.jobs.get(given.job.id)!;
    const answer = await this.scene.change(given, changeOf(word));
    const expected = this.#expected(job, given.leaseToken, word);
    expect(answer.kind === "refused" ? answer.code : answer.kind).toBe(expected);
  }

  #expected(job: model.ModelJob, token: string, word: string): model.Answer {
    const { nowMs } = this.scene;
    if (word.startsWith("result")) return model.result(job, token, word.slice(7), nowMs);
    const lost = model.fence(job, token, nowMs);
    if (lost !== null) return lost;
    if (word === "start") model.start(job, nowMs);
    else if (word === "renew" || word === "progress") model.renew(job, nowMs);
    else if (word === "release") return model.release(job, nowMs);
    else return model.fail(job, word as Parameters<typeof model.fail>[1], nowMs);
    return "moved";
  }

  async #check(): Promise<void> {
    const counts = { pending: 0, assigned: 0, running: 0, completed: 0, failed: 0, quarantined: 0 };
    for (const job of this.jobs.values()) counts[job.state]++;
    await Promise.all([...this.jobs.values()].map((job) => this.#checkJob(job)));
    expect((await this.scene.store.ping()).jobs).toEqual(counts);
  }

  async #checkJob(job: model.ModelJob): Promise<void> {
    const [stored, events] = await Promise.all([this.scene.job(job.id), this.scene.events(job.id)]);
    expect({
      state: stored.status,
      attempt: stored.attempt,
      charged: stored.attempts,
      code: stored.failCode,
      timeoutMs: stored.timeoutSec * 1_000,
      result: stored.result,
      onHold: stored.heldAt !== null,
    }).toEqual({
      state: job.state,
      attempt: job.attempt,
      charged: job.charged,
      code: job.code,
      timeoutMs: job.timeoutMs,
      result: job.result,
      onHold: job.onHold,
    });
    if (job.state === "pending") expect(stored.runAt).toBe(job.runAt);
    expect(stored.attempt).toBe(this.claimsOf.get(job.id) ?? 0);
    expect(stored.attempts).toBeLessThanOrEqual(stored.maxAttempts);
    for (const [code, used] of Object.entries(job.policy === null ? stored.retryCounts : {})) {
      expect(used).toBeLessThanOrEqual(failureClasses[code as keyof typeof failureClasses].retries);
    }
    expect(stored.leaseExpiresAt !== null).toBe(model.isHeld(job));
    expect(events.map(({ jobSeq }) => jobSeq)).toEqual(events.map((_, index) => index + 1));
    expect(stored.eventCount).toBe(events.length);
    expect(stored.leaseExpiresAt ?? 0).toBeLessThanOrEqual(this.scene.nowMs + leaseMs);
  }
}

type Policy = { max: number; delaySec: number };

function termsOf(policy: Policy | null, finishSec: number | null): string | null {
  if (policy === null && finishSec === null) return null;
  return JSON.stringify({
    ...(finishSec === null ? {} : { finish_within_sec: finishSec }),
    ...(policy === null
      ? {}
      : { retry: { backoff: "exponential", delay_sec: policy.delaySec, max: policy.max } }),
  });
}

/** Counted from the newest, so that small numbers meet what is alive. */
function pick<T>(list: T[], which: number): T | undefined {
  return list.at(-1 - (which % Math.max(1, list.length)));
}

function changeOf(word: string): Parameters<Scene["change"]>[1] {
  if (word.startsWith("result")) return resultOf(word.slice(7));
  if (word === "start") return { act: "start", isolation: null };
  if (word === "renew") return { act: "renew" };
  if (word === "progress") return { act: "progress", progress: "1" };
  if (word === "release") return { act: "release", reason: "drain" };
  return failureOf(word as Parameters<typeof failureOf>[0]);
}
