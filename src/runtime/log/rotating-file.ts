import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { makeDir } from "../files/make-dir.ts";
import { writeWhole } from "../files/write-whole.ts";

type RotatingFileOptions = {
  file: string;
  sizeBytesMax: number;
  /** How many full files are kept beside the current one, as `<file>.1` (newest) to `<file>.<keep>`. */
  keep: number;
  /** How a line of JSON is written into this file (default: as it is). */
  formatted?: (line: string) => string;
};

// Enough for one burst; more would only be memory that a crash loses.
const pendingBytesMax = 64 * 1024;

/**
 * A log file of one process that never exceeds its size limit. Lines that arrive in one turn of the event loop share
 * one synchronous write: lines stay whole and in order, and a rotation happens between two lines, never inside one.
 */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  readonly #flushAtExit = (): void => this.flush();
  #fd: number;
  #sizeBytes = 0;
  #rotateAtBytes = 0;
  #isRegular = false;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isScheduled = false;
  #isClosed = false;
  #lostLines = 0;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
    makeDir(dirname(options.file));
    this.#fd = this.#open();
    // What was logged last before the process ends is often what matters most.
    process.on("exit", this.#flushAtExit);
  }

  write(line: string): void {
    if (this.#isClosed) return;
    const bytes = Buffer.from(line);
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= pendingBytesMax) this.flush();
    else this.#schedule();
  }

  flush(): void {
    let batch: Buffer[] = [];
    let batchBytes = 0;
    const lines = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    for (const line of lines) {
      if (this.#sizeBytes + batchBytes + line.length > this.#rotateAtBytes) {
        this.#append(batch);
        batch = [];
        batchBytes = 0;
        if (this.#sizeBytes > 0) this.#rotate();
      }
      batch.push(line);
      batchBytes += line.length;
    }
    this.#append(batch);
  }

  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    process.off("exit", this.#flushAtExit);
    closeSync(this.#fd);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isClosed) this.flush();
    });
  }

  #append(lines: readonly Buffer[]): void {
    if (lines.length === 0) return;
    const bytes = Buffer.concat(this.#lostLines > 0 ? [this.#lossNotice(), ...lines] : lines);
    try {
      writeWhole(this.#fd, bytes);
      this.#sizeBytes += bytes.length;
      this.#lostLines = 0;
    } catch {
      // A full disk must not stop the program that logs. The incomplete line is cut off, and the gap is recorded later.
      this.#lostLines += lines.length;
      this.#cutTornLine();
    }
  }

  #lossNotice(): Buffer {
    const notice = { level: "warn", lost_lines: this.#lostLines, msg: "log lines lost" };
    const line = `${JSON.stringify(notice)}\n`;
    return Buffer.from(this.#options.formatted?.(line) ?? line);
  }

  #cutTornLine(): void {
    try {
      if (this.#isRegular) ftruncateSync(this.#fd, this.#sizeBytes);
    } catch {
      // The line stays torn: a disk that cannot cut it reports nothing better.
    }
  }

  #rotate(): void {
    const { file, keep, sizeBytesMax } = this.#options;
    try {
      for (let n = keep - 1; n >= 1; n--) renameIfThere(`${file}.${n}`, `${file}.${n + 1}`);
      if (keep >= 1) renameSync(file, `${file}.1`);
      else unlinkSync(file);
      const full = this.#fd;
      this.#fd = this.#open();
      closeSync(full);
    } catch {
      // Without permission to rename, the old descriptor stays in use: a file that is too large loses no line.
      this.#rotateAtBytes = this.#sizeBytes + sizeBytesMax;
    }
  }

  #open(): number {
    const fd = openSync(
      this.#options.file,
      constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT,
      0o600,
    );
    const stat = fstatSync(fd);
    // A log that is a terminal or a pipe (as in a container) can be neither rotated nor truncated.
    this.#isRegular = stat.isFile();
    if (this.#isRegular) fchmodSync(fd, 0o600);
    this.#sizeBytes = this.#isRegular ? stat.size : 0;
    this.#rotateAtBytes = this.#isRegular ? this.#options.sizeBytesMax : Number.POSITIVE_INFINITY;
    return fd;
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
