import { type RunOutcome, stopReasonOf } from "../../runners/runner.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";

/** Most stopped jobs have little output left to send, so their end is reported before this and needs no notice. */
const noticeAfterMs = 50;

type NoticeDeps = { calls: Pick<HubCalls, "accepts" | "stopped">; clock: Clock; logger: Logger };

/**
 * Tells the hub that the processes of a cancelled attempt are dead, if its end cannot be reported soon because output
 * or files still have to be sent, for callers that wait for the stop.
 */
export class StopNotice {
  readonly #deps: NoticeDeps;
  readonly #held: HeldJob;
  #timer: Timer | undefined;
  #isSettled = false;
  #sent: Promise<void> | undefined;

  constructor(deps: NoticeDeps, held: HeldJob) {
    this.#deps = deps;
    this.#held = held;
  }

  /**
   * Called when nothing of the attempt runs any more, even if it is cancelled only while its output is sent. Only a
   * process has an exit code, and only a process writes that much.
   */
  makeLater(outcome: RunOutcome): void {
    if (outcome.kind === "released" || outcome.exitCode === undefined) return;
    const { exitCode } = outcome;
    const { signal } = this.#held.stop;
    const begin = (): void => {
      if (stopReasonOf(signal) !== "cancelled" || this.#isSettled) return;
      this.#timer = this.#deps.clock.setTimer(() => {
        this.#sent = this.#send(exitCode);
      }, noticeAfterMs);
    };
    if (signal.aborted) begin();
    else signal.addEventListener("abort", begin, { once: true });
  }

  /** Resolves when no call is in progress: one that arrives after the end would look like one of an old attempt. */
  async whenIdle(): Promise<void> {
    this.#isSettled = true;
    this.#timer?.cancel();
    await this.#sent;
  }

  /** Tried once, because the end reports the same. A hub of version 0.1 accepts only the end. */
  async #send(exitCode: number): Promise<void> {
    const { lease, gone } = this.#held;
    if (!this.#deps.calls.accepts("stopped")) return;
    try {
      await this.#deps.calls.stopped(lease, exitCode, gone.signal);
    } catch (error) {
      const { job_id, attempt } = lease;
      this.#deps.logger.debug(
        { err: error, job_id, attempt },
        "the hub was not told that the job is stopped",
      );
    }
  }
}
