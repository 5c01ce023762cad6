import { idOfHex } from "../../frames/job-line.ts";
import type { Connection } from "../database/connection.ts";

/** About 2 MB. */
const recentMax = 20_000;

/**
 * Whether an id is certainly new, without a look at the table: ids begin with the time, so nearly all of them are above everything
 * that was stored longer ago. Why: ADR 0116.
 */
export class KnownIds {
  /** Every stored id above it is among the recent ones. */
  #floor: string;
  #recent = new Set<string>();
  #before = new Set<string>();

  constructor(sql: Connection) {
    const last = sql.first<{ id: Uint8Array | null }>("SELECT max(id) AS id FROM jobs")!.id;
    this.#floor = last === null ? "" : idOfHex(Buffer.from(last).toString("hex"));
  }

  isNew(id: string): boolean {
    return id > this.#floor && !this.#recent.has(id) && !this.#before.has(id);
  }

  add(id: string): void {
    this.#recent.add(id);
    if (this.#recent.size < recentMax) return;
    for (const old of this.#before) if (old > this.#floor) this.#floor = old;
    this.#before = this.#recent;
    this.#recent = new Set();
  }
}
