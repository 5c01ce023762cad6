import { closeSync, openSync, writeSync } from "node:fs";

/**
 * A log of one job: a file, or a pipe to the program that runs the worker. Lines are written at once and in place, so
 * that all of them are there when the job ends, and nothing piles up in memory. A log that cannot be written never
 * fails a job.
 */
export class JobLog {
  readonly #path: string | undefined;
  #file: number | undefined;
  #isBroken = false;

  constructor(path: string | undefined) {
    this.#path = path;
    this.#isBroken = path === undefined;
  }

  write(text: string): void {
    if (this.#isBroken) return;
    try {
      this.#file ??= openSync(this.#path!, "a");
      const bytes = Buffer.from(`${text}\n`);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
    } catch {
      // A full or missing disk must not end the job; there is no better place to report it.
      this.#isBroken = true;
    }
  }

  close(): void {
    this.#isBroken = true;
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
