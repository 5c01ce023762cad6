import { agentCallsMax } from "../../contract/shapes/coding-agent-shapes.ts";
import type { AgentCall } from "../../core/agents/agent-use.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";

const betweenMs = 250;

type AgentReportDeps = { calls: Pick<HubCalls, "agent">; clock: Clock };

/**
 * Reports what a coding agent does, in its order and at most a few times a second. A call that has changed since it was
 * last sent is sent again; what was lost goes with the next report. The runner bounds how many there are.
 */
export class AgentReporter {
  readonly #deps: AgentReportDeps;
  readonly #held: HeldJob;
  readonly #announce: () => Promise<void>;
  /** By number; the newest word about each. */
  #waiting = new Map<number, AgentCall>();
  #pause: Timer | undefined;
  #sending: Promise<void> = Promise.resolve();
  #isOver = false;

  /** `announce` resolves when the hub knows that the attempt has started. */
  constructor(deps: AgentReportDeps, held: HeldJob, announce: () => Promise<void>) {
    this.#deps = deps;
    this.#held = held;
    this.#announce = announce;
  }

  report(call: AgentCall): void {
    if (this.#isOver) return;
    this.#waiting.set(call.call, call);
    this.#pause ??= this.#deps.clock.setTimer(() => this.#flush(), betweenMs);
  }

  /** Sends what is left; resolves when the hub has it, or was tried once more in vain. */
  async finish(): Promise<void> {
    this.#isOver = true;
    this.#pause?.cancel();
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    this.#pause = undefined;
    this.#sending = this.#sending.then(() => this.#send());
  }

  async #send(): Promise<void> {
    const calls = [...this.#waiting.values()].sort((one, other) => one.call - other.call);
    this.#waiting.clear();
    try {
      if (calls.length > 0) await this.#announce();
      while (calls.length > 0) {
        await this.#deps.calls.agent(this.#held.lease, calls.slice(0, agentCallsMax), this.#held.gone.signal);
        calls.splice(0, agentCallsMax);
      }
    } catch {
      // A lost report fails nothing: it goes with the next, unless something newer is known by now.
      for (const call of calls) if (!this.#waiting.has(call.call)) this.#waiting.set(call.call, call);
    }
  }
}
