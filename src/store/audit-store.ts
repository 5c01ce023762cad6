import type { EventKind, Severity } from "../core/events.ts";
import type { SealedRecord } from "./log/audit-record.ts";

/** The part of the store that keeps the audit trail: the event log with its hash chain. */
export type AuditStore = {
  /**
   * Events are sealed in the transaction that writes them, once all older ones are. This chains the oldest events that an
   * earlier version left unsealed. `head` is the newest seal afterwards.
   */
  sealEvents(input: {
    limit: number;
  }): Promise<{ sealed: number; head: { seq: number; hash: string } | null; more: boolean }>;
  /** Stores a signed statement about the chain; of each kind only the newest thousand are kept. */
  saveAuditMark(input: { mark: AuditMark }): Promise<void>;
  findAuditMark(input: { audit: AuditMark["audit"] }): Promise<AuditMark | null>;
  readSealed(input: { afterSeq: number; limit: number }): Promise<SealedRecord[]>;
  /** Looks through a window of sealed records, newest first; `next` is where the next window begins. */
  searchAudit(input: AuditFilter): Promise<AuditPage>;
  /**
   * Counts events of these kinds in a range of the log, by tenant and user. An event with `folded` in its details stands
   * for that many.
   */
  countEvents(input: { afterSeq: number; throughSeq: number; kinds: EventKind[] }): Promise<EventCount[]>;
};

export type EventCount = { event: EventKind; tenantId: string | null; userId: string | null; count: number };

/** What the hub has signed about the chain: where it begins, or how far it reached. */
export type AuditMark = {
  audit: "start" | "head";
  seq: number;
  hash: string;
  ts: number;
  key_id: string;
  signature: string;
};

/** The filters of a search in the trail. */
export type AuditTraits = {
  event?: EventKind;
  /** Any of these, or all but those. */
  kinds?: EventKind[] | undefined;
  without?: EventKind[] | undefined;
  severity?: Severity;
  tenantId?: string;
  userId?: string;
  jobId?: string;
  since?: number;
  until?: number;
};

export type AuditFilter = AuditTraits & {
  /** Only records below this seq. */
  before: number;
  /** Only records above this seq. */
  after?: number | undefined;
  /** How many records are examined. */
  window: number;
  limit: number;
};

export type AuditPage = { records: SealedRecord[]; next: number | null };

/** Only the newest heads are worth keeping, because each covers everything before it. */
export const headsMax = 1_000;
