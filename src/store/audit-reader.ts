import type { LoggedEvent } from "../core/events.ts";
import type { ChainSeal } from "./audit-chain.ts";
import type { AuditMark } from "./audit-store.ts";

/** The audit trail of a database as it was at one moment, to be checked without a hub. */
export type AuditReader = {
  /** In order of seq, after a given one. */
  rows(afterSeq: number): Iterable<HotRow>;
  marks(): AuditMark[];
  /** The number of the last event that the hub has ever written. */
  lastSeq(): number;
  close(): void;
};

/** A row of the log with its seal; either may be missing if somebody has tampered with the database. */
export type HotRow = {
  seq: number;
  event: LoggedEvent | null;
  seal: Omit<ChainSeal, "seq"> | null;
};
