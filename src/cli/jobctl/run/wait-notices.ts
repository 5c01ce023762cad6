import type { Why } from "../../../client/index.ts";
import { isRetryable, WritError } from "../../../core/errors.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { WakeUp } from "../../../runtime/clock/wake-up.ts";
import type { CliContext } from "../../context.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

type NoticeDeps = {
  context: Pick<CliContext, "program" | "stderr">;
  clock: Clock;
  why(signal: AbortSignal): Promise<Why>;
  beforeLine?: (() => void) | undefined;
};

/** A person at a terminal wonders soon; in a log, a short wait is not worth a line. */
const firstLookMs = { terminal: 2_000, pipe: 30_000 };
const lookMs = 5_000;

/**
 * Says on stderr what a command waits for, in the words of `why`, and again when it changes. A job that runs is left
 * alone: nothing is asked until `lookAgain` says that it may wait once more.
 */
export class WaitNotices {
  readonly #deps: NoticeDeps;
  readonly #stopping = new AbortController();
  readonly #wakeUp = new WakeUp();
  #said = "";
  #isHubAway = false;

  constructor(deps: NoticeDeps) {
    this.#deps = deps;
    // Notices are an extra: if they cannot be made, the command itself continues.
    this.#run(this.#stopping.signal).catch(() => {});
  }

  /** The job may wait again, or the hub may be away. Bound, so that it can be passed as a listener. */
  readonly lookAgain = (): void => this.#wakeUp.wake();

  stop(): void {
    this.#stopping.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, context } = this.#deps;
    const firstMs = context.stderr.isTTY === true ? firstLookMs.terminal : firstLookMs.pipe;
    while (!signal.aborted) {
      this.#wakeUp.clear();
      await clock.sleep(firstMs, signal);
      while (await this.#look(signal)) await clock.sleep(lookMs, signal);
      await this.#wakeUp.wait({ signal });
    }
  }

  /** Returns true while the command waits for something. */
  async #look(signal: AbortSignal): Promise<boolean> {
    try {
      const why = await this.#deps.why(signal);
      if (this.#isHubAway) this.#write("the hub is back");
      this.#isHubAway = false;
      if (why.status !== "pending" && why.status !== "assigned") return this.#rest();
      // The sentence may count those before it, which is not worth a line each time.
      this.#say(`${why.status} ${why.held_by} ${why.retry_due_at}`, why.summary);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof WritError)) throw error;
      if (!isRetryable(error)) return false;
      this.#isHubAway = true;
      this.#say("hub away", `${error.message}; trying again`);
      return true;
    }
  }

  #rest(): false {
    this.#said = "";
    return false;
  }

  #say(what: string, text: string): void {
    if (what !== this.#said) this.#write(`waiting: ${text}`);
    this.#said = what;
  }

  #write(text: string): void {
    const { context, beforeLine } = this.#deps;
    beforeLine?.();
    context.stderr.write(`${context.program}: ${neutraliseLine(text)}\n`);
  }
}
