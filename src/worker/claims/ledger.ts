import { type FileHandle, open, readFile } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";

export type LedgerEntry = {
  jobId: string;
  attempt: number;
  expiresAtTs: number;
  /** Whether its lease is bound to this process, so that no later process needs to remember it. */
  isBound?: boolean;
};

type Row = { attempt: number; expiresAtTs: number };

const keptSec = 30 * 86_400;
/** Twice the allowed clock skew of a lease; after that, the time in an old lease makes its claim invalid. */
const spareSec = 60;
/**
 * Above this, only entries are kept whose lease could still be accepted, so that a fast worker does not fill its
 * memory.
 */
const rowsMax = 250_000;
const linesMin = 10_000;

/**
 * The attempts that this worker has already accepted. It refuses a claim that is delivered a second time, even if every
 * signature in it is valid. Attempts are kept across restarts, except those whose lease is bound to this process: no
 * later process would run them, so they stay in memory, which saves a sync of the disk for every claim. Why: ADR 0033.
 */
export class Ledger {
  readonly #path: string;
  readonly #nowMs: () => number;
  readonly #rows: Map<string, Row>;
  /** Oldest first, because a map keeps the order in which entries were added. */
  readonly #boundRows = new Map<string, Row>();
  #file: FileHandle;
  #lines = 0;
  readonly #turns = new Turns(1);

  private constructor(path: string, nowMs: () => number, rows: Map<string, Row>, file: FileHandle) {
    this.#path = path;
    this.#nowMs = nowMs;
    this.#rows = rows;
    this.#file = file;
    this.#lines = rows.size;
  }

  static async open(path: string, nowMs: () => number): Promise<Ledger> {
    const rows = readRows(await readIfThere(path));
    forgetOld(rows, nowMs() / 1000);
    // Rewritten at each start, so that the next line is not appended to one that was torn by a crash.
    await writePrivateFile(path, textOf(rows));
    return new Ledger(path, nowMs, rows, await open(path, "a"));
  }

  /**
   * Returns for each attempt whether it is new. No attempt may be started before `saved` resolves, when all of them
   * would survive a power failure; one sync serves the whole batch.
   */
  admit(entries: readonly LedgerEntry[]): { isNew: boolean[]; saved: Promise<void> } {
    const isNew = entries.map((entry) => this.#note(entry));
    const lines = entries.filter(({ isBound }, index) => isNew[index] && !isBound).map(lineOf);
    const saved = lines.length === 0 ? Promise.resolve() : this.#turns.take(() => this.#append(lines));
    return { isNew, saved };
  }

  async close(): Promise<void> {
    await this.#turns.take(() => this.#file.close());
  }

  #note({ jobId, attempt, expiresAtTs, isBound = false }: LedgerEntry): boolean {
    const known = Math.max(this.#rows.get(jobId)?.attempt ?? 0, this.#boundRows.get(jobId)?.attempt ?? 0);
    // Attempt numbers only increase, so an older one is as much a repetition as the same one.
    if (attempt <= known) return false;
    if (isBound) this.#forgetExpired();
    const rows = isBound ? this.#boundRows : this.#rows;
    // Removed first, so that the map stays ordered by age.
    rows.delete(jobId);
    rows.set(jobId, { attempt, expiresAtTs });
    return true;
  }

  /** Leases expire roughly in the order in which they were made, so only the oldest are looked at. */
  #forgetExpired(): void {
    const nowSec = this.#nowMs() / 1000;
    for (const [jobId, { expiresAtTs }] of this.#boundRows) {
      if (this.#boundRows.size <= rowsMax || expiresAtTs + spareSec >= nowSec) return;
      this.#boundRows.delete(jobId);
    }
  }

  async #append(lines: string[]): Promise<void> {
    await this.#file.appendFile(lines.join(""));
    await this.#file.datasync();
    this.#lines += lines.length;
    if (this.#lines > linesMin + 2 * Math.min(this.#rows.size, rowsMax)) await this.#compact();
  }

  async #compact(): Promise<void> {
    forgetOld(this.#rows, this.#nowMs() / 1000);
    await writePrivateFile(this.#path, textOf(this.#rows));
    const full = this.#file;
    this.#file = await open(this.#path, "a");
    this.#lines = this.#rows.size;
    await full.close();
  }
}

function forgetOld(rows: Map<string, Row>, nowSec: number): void {
  for (const [jobId, { expiresAtTs }] of rows) {
    const keepSec = rows.size > rowsMax ? spareSec : keptSec;
    if (expiresAtTs + keepSec < nowSec) rows.delete(jobId);
  }
}

function textOf(rows: Map<string, Row>): string {
  return Array.from(rows, ([jobId, row]) => lineOf({ jobId, ...row })).join("");
}

function lineOf({ jobId, attempt, expiresAtTs }: LedgerEntry): string {
  return `${jobId} ${attempt} ${expiresAtTs}\n`;
}

const linePattern = /^(\S{1,100}) (\d{1,16}) (\d{1,16})$/;

/** A line torn by a crash belongs to an attempt that never started, because the sync comes before the start. */
function readRows(text: string): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const line of text.split("\n")) {
    const match = linePattern.exec(line);
    if (match === null) continue;
    const [, jobId = "", attempt, expiresAtTs] = match;
    if ((rows.get(jobId)?.attempt ?? 0) > Number(attempt)) continue;
    rows.delete(jobId);
    rows.set(jobId, { attempt: Number(attempt), expiresAtTs: Number(expiresAtTs) });
  }
  return rows;
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}
