import { statSync } from "node:fs";

/** The log is cut back to 64 MB when it starts over, so a longer one has waited for that. */
const logBytesMax = 80 * 1024 ** 2;
const pauseMsMax = 100;
const stepMs = 5;
/** Without writes the log stays as it is: then this is how often a read waits in vain. */
const pausedEveryMs = 1_000;

const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * The log can start over only at a commit during which nobody reads. If one read follows the other, that moment never
 * comes, and the log would grow for ever. So reads pause when it has become long. Why: ADR 0059.
 */
export class LogPause {
  readonly #path: string;
  #nextAt = 0;

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** To be called between two reads. */
  pauseIfLong(): void {
    if (performance.now() < this.#nextAt) return;
    const endAt = performance.now() + pauseMsMax;
    while (this.#isLong() && performance.now() < endAt) Atomics.wait(never, 0, 0, stepMs);
    this.#nextAt = performance.now() + pausedEveryMs;
  }

  #isLong(): boolean {
    return (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax;
  }
}
