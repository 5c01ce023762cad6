import type { LoggedEvent } from "../../core/events.ts";
import type { AuditMark } from "../audit-store.ts";
import type { ChainSeal } from "./audit-chain.ts";
import { readEventExactly, type StoredEvent } from "./stored-event.ts";

/** The audit trail of a database as it was at one moment, to be checked without a hub. Why: ADR 0014, ADR 0088. */
export type AuditReader = {
  /** In order of seq, after a given one. */
  rows(afterSeq: number): Iterable<HotRow> | AsyncIterable<HotRow>;
  marks(): AuditMark[] | Promise<AuditMark[]>;
  /** The number of the last event that the hub has ever written. */
  lastSeq(): number | Promise<number>;
  close(): void | Promise<void>;
};

/** A row of the log with its seal; either may be missing if somebody has tampered with the database. */
export type HotRow = {
  seq: number;
  event: LoggedEvent | null;
  seal: Omit<ChainSeal, "seq"> | null;
};

/** A row of the outer join: all columns of a side are null where that side is missing. */
export type JoinedRow = {
  [Field in keyof (StoredEvent & ChainSeal)]: (StoredEvent & ChainSeal)[Field] | null;
};

export function readHotRow(row: JoinedRow): HotRow {
  const { hash, severity } = row;
  return {
    seq: row.seq!,
    event: row.event === null ? null : readEventExactly(row as StoredEvent),
    seal: hash === null || severity === null ? null : { hash, severity },
  };
}
