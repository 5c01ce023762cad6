import { closeSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { tryLockFile } from "../../runtime/files/file-lock.ts";
import { makeDir } from "../../runtime/files/make-dir.ts";
import type { LogRotation } from "../agent-settings.ts";

type SharedLogDeps = {
  clock: Clock;
  rotation: LogRotation;
  /** Called when the full file could not be set aside; lines are still added to it. */
  onRotationFailed(file: string, reason: string): void;
};

/**
 * A log that any number of processes add lines to. Each call opens the file, adds whole lines with one write and closes
 * it, so a line is never torn, and one whose file is renamed in that moment is in the renamed file. A file that is too
 * large is renamed by whichever process notices first: when it opens the log, at intervals, and when it has itself
 * written as much as a file may hold. Why: ADR 0045.
 */
export class SharedLog {
  readonly #deps: SharedLogDeps;
  readonly #file: string;
  #checkAtMs = 0;
  #writtenBytes = 0;

  constructor(deps: SharedLogDeps, file: string) {
    this.#deps = deps;
    this.#file = file;
  }

  /** Adds lines, each with its line break. Never throws: a log that cannot be written must not stop a job. */
  append(lines: string | Uint8Array): void {
    const bytes = Buffer.from(lines as Uint8Array);
    if (bytes.length === 0) return;
    this.#rotateIfDue();
    try {
      appendWhole(this.#file, bytes);
      this.#writtenBytes += bytes.length;
    } catch {
      // A full or missing disk. There is no better place to report it.
    }
  }

  #rotateIfDue(): void {
    const { clock, rotation } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#checkAtMs && this.#writtenBytes < rotation.sizeBytesMax) return;
    this.#checkAtMs = nowMs + rotation.checkMs;
    this.#writtenBytes = 0;
    try {
      if (sizeOf(this.#file) < rotation.sizeBytesMax) return;
      rotateOnce(this.#file, rotation);
    } catch (error) {
      this.#deps.onRotationFailed(this.#file, (error as Error).message);
    }
  }
}

/** Nothing happens while another process does the same, or when it has just been done. */
function rotateOnce(file: string, { sizeBytesMax, filesMax }: LogRotation): void {
  const lock = tryLockFile(`${file}.lock`);
  if (lock === null) return;
  try {
    if (sizeOf(file) < sizeBytesMax) return;
    for (let n = filesMax - 1; n >= 1; n--) renameIfThere(`${file}.${n}`, `${file}.${n + 1}`);
    renameIfThere(file, `${file}.1`);
  } finally {
    lock.release();
  }
}

function appendWhole(file: string, bytes: Buffer): void {
  const fd = openAppending(file);
  try {
    const written = writeSync(fd, bytes);
    // Only a full disk writes a part. What follows must still begin on a line of its own.
    if (written < bytes.length) writeSync(fd, "\n");
  } finally {
    closeSync(fd);
  }
}

function openAppending(file: string): number {
  try {
    return openSync(file, "a", 0o600);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    makeDir(dirname(file));
    return openSync(file, "a", 0o600);
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
