import type { RunOutcome } from "../runners/runner.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { HeldJob } from "./claims/held-jobs.ts";

/** The result of a claimed batch. */
type BatchFacts = {
  accepted: readonly HeldJob[];
  /** Claims that did not verify or were delivered twice. */
  refused: number;
  /** Claims that were released because only the times did not match. */
  returned: number;
  verifyMs: number;
};

type EndFacts = {
  outcome: RunOutcome;
  /** Null if it was never started. */
  startedAtMs: number | null;
  endedAtMs: number;
  /** The hub's answer to the report. */
  report: "kept" | "lost" | "refused" | "released";
};

const windowMs = 1_000;
/** More ends than this in a second share a line of counts. */
const linesMax = 100;
/** More ids than this in one line would hide the rest of it. */
const idsMax = 20;

const nothing = { claimed: 0, completed: 0, failed: 0, given_back: 0, refused: 0 };

/**
 * Writes the worker's log: a line for each claimed batch and each ended job. In a second with more than a hundred jobs,
 * the rest of them have lines only at DEBUG, and so has every job from then on; one line a second counts them, until a
 * second has fewer. A refusal always has its own line, at WARN.
 */
export class WorkLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #windowEndsMs = 0;
  /** Ends in this second. */
  #ends = 0;
  /** The counts for the next line; null while every job has a line of its own. */
  #counts: typeof nothing | null = null;

  constructor({ logger, clock }: { logger: Logger; clock: Clock }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  claimed({ accepted, refused, returned, verifyMs }: BatchFacts): void {
    if (!this.#isOn("info")) return;
    if (this.#counts !== null) this.#counts.claimed += accepted.length;
    const level = this.#counts === null ? "info" : "debug";
    if (!this.#isOn(level)) return;
    const facts = {
      jobs: accepted.length,
      job_ids: accepted.slice(0, idsMax).map(({ lease }) => lease.job_id),
      signature_verified: accepted.length > 0,
      ...(refused > 0 && { refused }),
      ...(returned > 0 && { given_back: returned }),
      verify_ms: Math.round(verifyMs),
    };
    this.#logger[level](facts, "claimed jobs");
  }

  ended(held: HeldJob, facts: EndFacts): void {
    const { outcome } = facts;
    if (isRefusal(outcome)) {
      const line = { ...lineOf(this.#clock, held, facts), reason: outcome.reason };
      this.#logger.warn(line, `refused job ${line.job_id}`);
      if (this.#counts !== null) this.#counts.refused++;
      return;
    }
    if (!this.#isOn("info")) return;
    this.#countEnd(outcome.kind);
    const level = this.#counts === null ? "info" : "debug";
    if (!this.#isOn(level)) return;
    this.#logger[level](lineOf(this.#clock, held, facts), "a job has ended");
  }

  /** A program's own logger may not report its levels; then every line is written, and a job never waits for one. */
  #isOn(level: "info" | "debug"): boolean {
    return this.#logger.isLevelEnabled?.(level) ?? true;
  }

  #countEnd(kind: RunOutcome["kind"]): void {
    if (this.#counts === null) {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs >= this.#windowEndsMs) {
        this.#windowEndsMs = nowMs + windowMs;
        this.#ends = 0;
      }
      if (++this.#ends <= linesMax) return;
      this.#counts = { ...nothing };
      this.#clock.setTimer(() => this.#tellCounts(), this.#windowEndsMs - nowMs);
    } else this.#ends++;
    this.#counts[kind === "succeeded" ? "completed" : kind === "failed" ? "failed" : "given_back"]++;
  }

  #tellCounts(): void {
    this.#logger.info({ ...this.#counts }, "jobs of the last second; each has a line at DEBUG");
    const isBusy = this.#ends > linesMax;
    this.#ends = 0;
    this.#windowEndsMs = this.#clock.monotonicMs() + windowMs;
    this.#counts = isBusy ? { ...nothing } : null;
    if (isBusy) this.#clock.setTimer(() => this.#tellCounts(), windowMs);
  }
}

type Refusal = Extract<RunOutcome, { kind: "failed" }>;

/** Whether the worker itself refused the document. */
function isRefusal(outcome: RunOutcome): outcome is Refusal {
  return outcome.kind === "failed" && ["SECURITY_VIOLATION", "INVALID_JOB"].includes(outcome.code);
}

function lineOf(clock: Clock, { claim, lease, claimedAtMs }: HeldJob, facts: EndFacts) {
  const { outcome, startedAtMs, endedAtMs, report } = facts;
  return {
    job_id: lease.job_id,
    type: claim.document["type"],
    attempt: lease.attempt,
    signature_verified: true,
    outcome: outcome.kind === "succeeded" ? "completed" : outcome.kind,
    ...(outcome.kind === "failed" && { code: outcome.code, detail: outcome.detail }),
    ...(outcome.kind !== "released" && { exit_code: outcome.exitCode ?? undefined }),
    ...(report !== "kept" && report !== outcome.kind && { report }),
    waited_ms: (startedAtMs ?? endedAtMs) - claimedAtMs,
    ...(startedAtMs !== null && { ran_ms: endedAtMs - startedAtMs }),
    report_ms: clock.nowMs() - endedAtMs,
  };
}
