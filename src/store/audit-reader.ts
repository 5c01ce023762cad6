import type { LoggedEvent } from "../core/events.ts";
import type { ChainSeal } from "./audit-chain.ts";
import type { AuditMark } from "./audit-store.ts";

/** The audit trail of a database as it was at one moment, for whoever checks it without a hub. */
export type AuditReader = {
  /** In order of seq, after one. */
  rows(afterSeq: number): Iterable<HotRow>;
  marks(): AuditMark[];
  /** The number of the last event that the hub has ever written. */
  lastSeq(): number;
  close(): void;
};

/** A row of the log beside its seal; either may be missing where somebody has been at work. */
export type HotRow = {
  seq: number;
  event: LoggedEvent | null;
  seal: Omit<ChainSeal, "seq"> | null;
};
