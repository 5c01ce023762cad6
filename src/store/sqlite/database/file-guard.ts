import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";

/** Looking at a file takes some microseconds, as much as a small read. */
const goodMs = 100;

/**
 * Notices when a name no longer leads to the file that is open under it. SQLite does not: it continues to write into a file
 * that was removed or replaced, and everything that was answered would be gone with the process. Why: ADR 0030.
 */
export class FileGuard {
  readonly #path: string;
  readonly #walPath: string;
  /** Which file was opened. */
  readonly opened: string | null;
  #openedWal: string | null = null;
  #goodUntilMs = 0;

  /** To be made as soon as the database is open; or with the file that another guard found. */
  constructor(path: string, opened = fileAt(path)) {
    this.#path = path;
    this.#walPath = `${path}-wal`;
    this.opened = opened;
    this.noteLog();
  }

  /** The log is made anew when the database is opened again, unlike the database. */
  noteLog(): void {
    this.#openedWal = fileAt(this.#walPath);
  }

  /** Whether the database may be opened again. Opening it would create a file that is missing. */
  checkDatabase(): void {
    if (fileAt(this.#path) !== this.opened) throw lost(this.#path);
  }

  /** Throws if a file is no longer the one that was opened. */
  check(): void {
    this.#goodUntilMs = 0;
    this.checkDatabase();
    if (this.#openedWal === null) this.noteLog();
    else if (fileAt(this.#walPath) !== this.#openedWal) throw lost(this.#walPath);
    this.#goodUntilMs = performance.now() + goodMs;
  }

  /** The same, but not if it was done a moment ago: for calls that promise nothing. */
  checkSometimes(): void {
    if (performance.now() > this.#goodUntilMs) this.check();
  }
}

function fileAt(path: string): string | null {
  const status = statSync(path, { bigint: true, throwIfNoEntry: false });
  return status === undefined ? null : `${status.dev} ${status.ino}`;
}

function lost(path: string): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    "the database is no longer the file that the hub opened; whether the call was stored is not known",
    { lost: path },
  );
}
