import type { Timer } from "../runtime/clock/clock.ts";
import type { TransferDeps } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";

/** About 1 KiB a second: whatever is slower does not end in a useful time. */
const stallDefault = { windowMs: 30_000, bytesMin: 32 * 1024 };

const silentWindowsMax = 10;

/** Gives up a connection on which too little moves. */
export class StallWatch {
  readonly #deps: Pick<TransferDeps, "clock" | "stall">;
  readonly #stalled = new AbortController();
  #bytes = 0;
  #quietWindows = 0;
  #quietWindowsMax = 1;
  #timer: Timer | undefined;

  constructor(deps: Pick<TransferDeps, "clock" | "stall">) {
    this.#deps = deps;
    this.#arm();
  }

  /** Aborted with a TransferFailure when too little has moved. */
  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Everything is sent: a store may need minutes until it has synced a large file to its disk. */
  allowSilence(): void {
    this.#quietWindowsMax = silentWindowsMax;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const { windowMs, bytesMin } = this.#deps.stall ?? stallDefault;
    this.#timer = this.#deps.clock.setTimer(() => {
      this.#quietWindows = this.#bytes < bytesMin ? this.#quietWindows + 1 : 0;
      if (this.#quietWindows >= this.#quietWindowsMax) {
        const ms = windowMs * this.#quietWindows;
        const what = `less than ${bytesMin} bytes have moved in ${ms} ms`;
        this.#stalled.abort(new TransferFailure("unavailable", what));
        return;
      }
      this.#bytes = 0;
      this.#arm();
    }, windowMs);
  }
}
