import type { JobDocument } from "../../contract/document.ts";
import { hasCode } from "../../core/errors.ts";
import { storagePolicyOf } from "../../core/storage-policy.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Isolation } from "../../sandbox/sandbox.ts";
import { type HeldJob, loseJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

/**
 * A job that ends before this is not announced: the report of its end has the start time. The shortest timeout of a job
 * is a second, so its time need not be watched sooner either.
 */
export const announceAfterMs = 20;
const holdMsMax = 100;
/** The first byte of a job that continues should be seen within some 5 ms; making the files and sending it take the rest. */
const firstByteMs = 3;

/** The kinds whose processes may end in a moment. Processes of other kinds live long, or outside this worker. */
const shortKinds: readonly string[] = ["exec", "exec_per_job", "handler"];

/**
 * Whether the hub may learn of the start later. Not for a job that is allowed one attempt: if its lease is taken back,
 * the hub must know whether its process has begun, because it would be started a second time otherwise.
 */
export function mayStartUnannounced(document: JobDocument): boolean {
  return isShortKind(document) && document.max_attempts !== 1;
}

/**
 * Whether the whole attempt may end in a moment, with nothing on disk before and after. Input files and collected files
 * are on disk.
 */
export function mayBeShort(document: JobDocument): boolean {
  return isShortKind(document) && storagePolicyOf(document) === null;
}

function isShortKind({ run }: JobDocument): boolean {
  return shortKinds.includes(run.kind) && !("container" in run);
}

/**
 * How long output is held to see whether the process ends: a while, and only a moment once it has written something,
 * because a person may be waiting for it. Processes that run at the same time slow each other down, so each of them may
 * take longer.
 */
export function holdOf(jobsHeld: number): { holdMs: number; holdWrittenMs: number } {
  const othersMs = 2 * Math.max(0, jobsHeld - 1);
  return {
    holdMs: Math.min(holdMsMax, announceAfterMs + othersMs),
    holdWrittenMs: Math.min(holdMsMax, firstByteMs + othersMs),
  };
}

type AnnounceDeps = RetryDeps & { calls: Pick<HubCalls, "start">; clock: Clock };

/** Announces the start of an attempt to the hub: once, even if several callers wait for it. Why: ADR 0009, ADR 0057. */
export class Announcement {
  readonly #deps: AnnounceDeps;
  readonly #held: HeldJob;
  #made: Promise<void> | undefined;
  #isAccepted = false;

  constructor(deps: AnnounceDeps, held: HeldJob) {
    this.#deps = deps;
    this.#held = held;
  }

  /** Whether the hub has accepted it. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  make(isolation?: Isolation, signal: AbortSignal = this.#held.gone.signal): Promise<void> {
    this.#made ??= retryWhileAway(this.#deps, signal, (callSignal) =>
      this.#deps.calls.start(this.#held.lease, isolation, callSignal),
    ).then(() => {
      this.#isAccepted = true;
    });
    return this.#made;
  }

  /** Makes it after a while, unless the timer is cancelled. If the hub refuses it, the attempt ends. */
  makeLater(isolation: Isolation | undefined, { ms = announceAfterMs, onMade = () => {} } = {}): Timer {
    return this.#deps.clock.setTimer(() => {
      onMade();
      this.make(isolation).catch((error: unknown) => {
        if (hasCode(error, "LEASE_LOST") && this.#held.phase === "running") loseJob(this.#held, "hub");
      });
    }, ms);
  }

  /** Resolves when no call is in progress: a start that arrives after the end would look like one of an old attempt. */
  async whenIdle(): Promise<void> {
    // The caller of `make` has handled its error.
    await this.#made?.catch(() => {});
  }
}
