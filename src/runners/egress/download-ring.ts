import type { OnReadOpts, Socket } from "node:net";
import type { Duplex } from "node:stream";

const pieceBytes = 128 * 1024;
const piecesMax = 4;

/**
 * Passes on what a server sends in a few buffers that are used again and again: with a new one for each piece, a large
 * download costs the worker half as much time again. A buffer is read into only when what it held was taken.
 */
export class DownloadRing {
  readonly #onBytes: (count: number) => void;
  readonly #pieces: Buffer[] = [];
  readonly #isTaken: boolean[] = [];
  /** What arrives before there is anybody to take it. */
  readonly #early: Buffer[] = [];
  #at = 0;
  #server: Socket | undefined;
  #client: Duplex | undefined;
  #isWaiting = false;

  constructor(onBytes: (count: number) => void) {
    this.#onBytes = onBytes;
  }

  /** For the socket before it is connected. */
  get onread(): OnReadOpts {
    return {
      buffer: () => this.#piece(this.#at),
      callback: (count) => this.#take(count),
    };
  }

  join(server: Socket, client: Duplex): void {
    this.#server = server;
    this.#client = client;
    for (const bytes of this.#early.splice(0)) client.write(bytes);
    server.once("end", () => client.end());
    server.resume();
  }

  #take(count: number): boolean {
    const piece = this.#piece(this.#at).subarray(0, count);
    this.#onBytes(count);
    if (this.#client === undefined) {
      this.#early.push(Buffer.from(piece));
      return false;
    }
    const at = this.#at;
    this.#isTaken[at] = true;
    this.#at = (at + 1) % piecesMax;
    this.#client.write(piece, () => this.#giveBack(at));
    this.#isWaiting = this.#isTaken[this.#at] === true;
    return !this.#isWaiting;
  }

  #giveBack(at: number): void {
    this.#isTaken[at] = false;
    if (!this.#isWaiting || at !== this.#at) return;
    this.#isWaiting = false;
    this.#server?.resume();
  }

  #piece(at: number): Buffer {
    this.#pieces[at] ??= Buffer.allocUnsafeSlow(pieceBytes);
    return this.#pieces[at];
  }
}
