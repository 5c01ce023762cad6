import type { CopyRow } from "../database/database-copy.ts";

const rowsMax = 2_000;
/** Documents and receipts can be large. */
const bytesMax = 4 * 1024 ** 2;

/** Collects rows into pages that are written at once. */
export class RowPage {
  rows: CopyRow[] = [];
  #bytes = 0;

  add(row: CopyRow): void {
    this.rows.push(row);
    for (const value of Object.values(row)) {
      if (typeof value === "string" || value instanceof Uint8Array) this.#bytes += value.length;
    }
  }

  get isFull(): boolean {
    return this.rows.length >= rowsMax || this.#bytes >= bytesMax;
  }

  take(): CopyRow[] {
    const rows = this.rows;
    this.rows = [];
    this.#bytes = 0;
    return rows;
  }
}
