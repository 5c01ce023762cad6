import { constants } from "node:os";

/** The signals that asked this process to stop: the first to finish in order, the second to stop at once. */
export class StopRequests {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  #lastExitCode = 0;
  #ignored: readonly NodeJS.Signals[] = [];

  /** For a process whose parent receives the same signals and passes on what they mean. */
  ignore(signals: readonly NodeJS.Signals[]): void {
    this.#ignored = signals;
  }

  request(signal: NodeJS.Signals): void {
    if (this.#ignored.includes(signal)) return;
    this.#lastExitCode = 128 + constants.signals[signal];
    if (this.#first.signal.aborted) this.#second.abort();
    this.#first.abort();
  }

  /** Aborted by the first request. */
  get requested(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second. */
  get forced(): AbortSignal {
    return this.#second.signal;
  }

  /** The exit code of a program that the last signal stopped. */
  get exitCode(): number {
    return this.#lastExitCode;
  }
}

/** Resolves when the signal is aborted. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
