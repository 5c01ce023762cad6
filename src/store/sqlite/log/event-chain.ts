import { firstHash } from "../../log/audit-record.ts";
import type { Connection } from "../database/connection.ts";

/** The hash that the next event follows; null if older events are not sealed yet, undefined if it was not read. */
export type ChainEnd = string | null | undefined;

/**
 * The end of the audit chain, kept in memory so that an event is sealed in the transaction that writes it.
 * Why: ADR 0062.
 */
export class EventChain {
  #end: ChainEnd;

  /** To be asked before an event is written. Null: the event is left to `sealEvents`, which seals the older ones first. */
  end(sql: Connection): string | null {
    if (this.#end === undefined) this.#end = readEnd(sql);
    return this.#end;
  }

  moveTo(hash: string): void {
    this.#end = hash;
  }

  /** Somebody else has sealed events, or skipped some. */
  forget(): void {
    this.#end = undefined;
  }

  mark(): ChainEnd {
    return this.#end;
  }

  backTo(mark: ChainEnd): void {
    this.#end = mark;
  }
}

function readEnd(sql: Connection): string | null {
  const lastSeal = sql.first<{ seq: number; hash: string }>(
    "SELECT seq, hash FROM audit_seals ORDER BY seq DESC LIMIT 1",
  );
  const lastEvent = sql.first<{ seq: number | null }>("SELECT max(seq) AS seq FROM events")!.seq ?? 0;
  if (lastEvent > (lastSeal?.seq ?? 0)) return null;
  return lastSeal?.hash ?? firstHash;
}
