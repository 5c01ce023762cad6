import { constants } from "node:os";

/** The signals that asked this process to stop. The first asks for order, the second for haste. */
export class StopRequests {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  #lastExitCode = 0;
  #ignored: readonly NodeJS.Signals[] = [];

  /** For a process whose parent hears these signals too, and speaks for them. */
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
  get asked(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second. */
  get urged(): AbortSignal {
    return this.#second.signal;
  }

  /** What a program ends with that was cut off by the last signal. */
  get exitCode(): number {
    return this.#lastExitCode;
  }
}

/** Resolves when the signal is aborted. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
