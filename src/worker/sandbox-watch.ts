import { backOffMs } from "../runtime/back-off.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Service } from "../runtime/service.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

type SandboxWatchDeps = {
  clock: Clock;
  logger: Logger;
  sandbox: Pick<Sandbox, "level" | "recheck">;
  onChange(isDown: boolean): void;
};

const recheckPause = { firstMs: 1_000, maxMs: 60_000 };

/**
 * Knows whether this host can cage processes. While it cannot, none are claimed, and the host is tried again, less
 * often after each failure: somebody may load a module, free some memory, or restart a service meanwhile.
 */
export class SandboxWatch implements Service {
  readonly name = "sandbox watch";
  readonly #deps: SandboxWatchDeps;
  #timer: Timer | undefined;
  #failures = 0;
  #isDown = false;
  #isStopped = false;

  constructor(deps: SandboxWatchDeps) {
    this.#deps = deps;
  }

  /** A host that lacks something from the start must not claim jobs only to give them back. */
  async start(): Promise<void> {
    if (this.#deps.sandbox.level !== "strict") return;
    const obstacle = await this.#recheck();
    if (obstacle !== null) this.down(obstacle);
  }

  /** A process could not be caged as it must be. */
  down(reason: string): void {
    if (this.#isDown || this.#isStopped) return;
    this.#isDown = true;
    this.#deps.logger.error({ reason }, "this host cannot cage processes; none are claimed until it can");
    this.#deps.onChange(true);
    this.#plan();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #plan(): void {
    if (this.#isStopped) return;
    const pauseMs = backOffMs(this.#failures, recheckPause);
    this.#timer = this.#deps.clock.setTimer(() => void this.#tryAgain(), pauseMs);
  }

  async #tryAgain(): Promise<void> {
    const obstacle = await this.#recheck();
    if (obstacle !== null) {
      this.#failures++;
      return this.#plan();
    }
    if (this.#isStopped) return;
    this.#isDown = false;
    this.#failures = 0;
    this.#deps.logger.info("this host can cage processes again");
    this.#deps.onChange(false);
  }

  async #recheck(): Promise<string | null> {
    try {
      return await this.#deps.sandbox.recheck();
    } catch (error) {
      return (error as Error).message;
    }
  }
}
