import type { Socket } from "node:net";

/** At most `max` open connections for each key, such as an address or a certificate. Why: ADR 0094. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts the socket until it closes; false if the key already has as many as it may. */
  admits(key: string, socket: Socket): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#max) return false;
    this.#counts.set(key, count + 1);
    socket.once("close", () => this.#release(key));
    return true;
  }

  #release(key: string): void {
    const left = this.#counts.get(key)! - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}
