import { closeSync, constants, openSync, readSync } from "node:fs";
import { Socket } from "node:net";
import { codeOf, hasCode } from "../../core/errors.ts";
import { writeWhole } from "../../runtime/files/write-whole.ts";
import { Masker } from "../../sandbox/plain/masker.ts";

type LogPipeOptions = {
  /** The pipe, which others write to. */
  fifo: string;
  /** What is written there is added to it; no link is followed. */
  file: string;
  bytesMax: number;
  masks: readonly string[];
  /** Called at most once: more was written than the limit allows, and exactly that much is kept. */
  onLimit(): void;
  /** Called at most once: this host cannot write the file. */
  onUnwritable(reason: string): void;
};

const chunkBytes = 64 * 1024;
/** A pipe holds no more, so further bytes were written after the end. */
const drainBytesMax = 1024 * 1024;

/**
 * Copies what a job's worker writes to a pipe into a file of the job's own, which the worker cannot reach.
 * Why: ADR 0044, ADR 0055.
 */
export class LogPipe {
  readonly #options: LogPipeOptions;
  readonly #masker: Masker;
  readonly #pipe: number;
  readonly #file: number;
  readonly #socket: Socket;
  #keptBytes = 0;
  #isCut = false;

  constructor(options: LogPipeOptions) {
    this.#options = options;
    this.#masker = new Masker(options.masks);
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    this.#file = openSync(options.file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    // Also for writing: otherwise the pipe would be at its end as soon as one writer has closed it.
    this.#pipe = openSync(options.fifo, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    this.#socket = new Socket({
      fd: this.#pipe,
      readable: true,
      writable: false,
      onread: {
        buffer: Buffer.allocUnsafe(chunkBytes),
        callback: (length, bytes) => {
          this.#keep(this.#masker.push(bytes.subarray(0, length)));
          return true;
        },
      },
    });
    this.#socket.on("error", () => {});
  }

  /** Everything that was written before this call is in the file when it returns; later bytes are lost. */
  close(): void {
    this.#socket.pause();
    for (let bytes = 0; bytes < drainBytesMax; ) {
      const chunk = this.#readNow();
      if (chunk.length === 0) break;
      bytes += chunk.length;
      this.#keep(this.#masker.push(chunk));
    }
    this.#keep(this.#masker.end());
    closeSync(this.#file);
    this.#socket.destroy();
  }

  #readNow(): Buffer {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    try {
      return buffer.subarray(0, readSync(this.#pipe, buffer));
    } catch (error) {
      if (hasCode(error, "EAGAIN")) return buffer.subarray(0, 0);
      throw error;
    }
  }

  #keep(bytes: Uint8Array): void {
    // The pipe is still read, so that the worker process and its other jobs are not blocked.
    if (this.#isCut) return;
    const room = this.#options.bytesMax - this.#keptBytes;
    const kept = bytes.subarray(0, room);
    try {
      writeWhole(this.#file, kept);
    } catch (error) {
      this.#isCut = true;
      this.#options.onUnwritable(`its output could not be written: ${codeOf(error)}`);
      return;
    }
    this.#keptBytes += kept.length;
    if (bytes.length <= room) return;
    this.#isCut = true;
    this.#options.onLimit();
  }
}
