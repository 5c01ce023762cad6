import { sandboxUnavailable } from "../../core/jobs/failure.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Service } from "../../runtime/service.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

type SandboxWatchDeps = {
  clock: Clock;
  logger: Logger;
  sandbox: Pick<Sandbox, "obstacle" | "recheck">;
  /** Called with the reason why no process is claimed from now on; null when processes are claimed again. */
  onChange(obstacle: string | null): void;
};

const recheckPause = { firstMs: 1_000, maxMs: 60_000 };
/** A host that was fine for this long begins with the first pause again. */
const fineMs = 60_000;

/**
 * Watches whether this host can cage processes. After a failure, no process is claimed until the host is tried again
 * and passes, less often after each failure: an operator may load a module, free memory, or restart a service
 * meanwhile. A job that asks for a limit which only this host lacks causes such a pause too, and a longer one each
 * time, so that another worker takes it and this one does not claim it repeatedly.
 */
export class SandboxWatch implements Service {
  readonly name = "sandbox watch";
  readonly #deps: SandboxWatchDeps;
  #timer: Timer | undefined;
  #failures = 0;
  #isDown = false;
  #fineSinceMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(deps: SandboxWatchDeps) {
    this.#deps = deps;
  }

  /** A host with a missing part must not claim jobs only to release them. */
  async start(): Promise<void> {
    const { obstacle } = this.#deps.sandbox;
    if (obstacle !== null) this.down(`${sandboxUnavailable}: ${obstacle}`);
  }

  /** Called when a process could not be caged as required. */
  down(reason: string): void {
    if (this.#isDown || this.#isStopped) return;
    this.#isDown = true;
    if (this.#deps.clock.monotonicMs() - this.#fineSinceMs > fineMs) this.#failures = 0;
    this.#deps.logger.error({ reason }, "a process cannot be caged; none are claimed until the host passes");
    this.#deps.onChange(reason);
    this.#plan();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #plan(): void {
    if (this.#isStopped) return;
    const pauseMs = backOffMs(this.#failures++, recheckPause);
    this.#timer = this.#deps.clock.setTimer(() => void this.#tryAgain(), pauseMs);
  }

  async #tryAgain(): Promise<void> {
    const obstacle = await this.#recheck();
    if (obstacle !== null) return this.#plan();
    if (this.#isStopped) return;
    this.#isDown = false;
    this.#fineSinceMs = this.#deps.clock.monotonicMs();
    this.#deps.logger.info("this host can cage processes again");
    this.#deps.onChange(null);
  }

  async #recheck(): Promise<string | null> {
    try {
      return await this.#deps.sandbox.recheck();
    } catch (error) {
      return (error as Error).message;
    }
  }
}
