import { WritError } from "../../core/errors.ts";
import { Turns } from "../../runtime/clock/turns.ts";

// A sender sends one chunk at a time; more waiting calls than this are a bug in the caller.
const waitingMax = 64;
// What all senders together may have in memory here while the database is slow.
const waitingBytesMax = 64 * 1024 * 1024;

/**
 * Appends to one output happen one after the other, so that no append waits in the database for another of the same
 * hub. Why: ADR 0085.
 */
export class AppendLimits {
  readonly #outputs = new Map<string, { turns: Turns; users: number }>();
  #bytes = 0;

  async take<T>(key: string, bytes: number, append: () => Promise<T>): Promise<T> {
    const output = this.#outputs.get(key) ?? { turns: new Turns(1), users: 0 };
    if (output.users >= waitingMax)
      throw new WritError("OUTPUT_UNAVAILABLE", `${output.users} appends are already waiting for one output`);
    if (this.#bytes > 0 && this.#bytes + bytes > waitingBytesMax) {
      const message = `${this.#bytes} bytes of output are already waiting to be stored; send it again in a moment`;
      throw new WritError("OUTPUT_UNAVAILABLE", message);
    }
    this.#outputs.set(key, output);
    output.users++;
    this.#bytes += bytes;
    try {
      return await output.turns.take(append);
    } finally {
      this.#bytes -= bytes;
      output.users--;
      if (output.users === 0) this.#outputs.delete(key);
    }
  }
}
