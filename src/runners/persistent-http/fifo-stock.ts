import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Node cannot make a FIFO, and a program for each would cost more than most jobs. */
const batchSize = 256;
/** Every user who can reach the pipe may write; the directories decide which users can. */
const mode = "0622";

/** Named pipes in a directory of their own, ready for use. Each is handed out once. */
export class FifoStock {
  readonly #dir: string;
  #batch: Promise<string[]> | undefined;
  #batches = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Resolves with the path of a pipe that no other caller gets; the caller moves it to its place. */
  async take(): Promise<string> {
    while (true) {
      this.#batch ??= this.#make();
      const batch = this.#batch;
      try {
        const fifo = (await batch).pop();
        if (fifo !== undefined) return fifo;
        this.#forget(batch);
      } catch (error) {
        // A full disk may get room: the next call tries again.
        this.#forget(batch);
        throw error;
      }
    }
  }

  /** Forgets a batch, unless another call has replaced it already. */
  #forget(batch: Promise<string[]>): void {
    if (this.#batch === batch) this.#batch = undefined;
  }

  async #make(): Promise<string[]> {
    const prefix = `${this.#batches++}-`;
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: batchSize }, (_, index) => `${prefix}${index}`);
    await promisify(execFile)("mkfifo", ["-m", mode, ...names], { cwd: this.#dir });
    return names.map((name) => join(this.#dir, name));
  }
}
