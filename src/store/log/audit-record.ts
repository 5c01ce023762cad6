import type { LoggedEvent, Severity } from "../../core/events.ts";
import { Decimal, type JsonObject, type JsonValue } from "../../core/text/json-value.ts";
import { canonicalize, canonicalString } from "../../signing/canonical.ts";
import { sha256Hex } from "../../signing/mac.ts";

/** An event in the form in which the audit trail shows it, writes it to files and hashes it. Why: ADR 0014. */
export type AuditRecord = {
  seq: number;
  event: string;
  timestamp: string;
  severity: Severity;
  user_id: string | null;
  tenant_id: string | null;
  ip_address: string | null;
  user_agent: string | null;
  job_id: string | null;
  job_seq: number | null;
  owner_id: string | null;
  details: Record<string, unknown>;
  context: { endpoint: string | null; method: string | null };
  prev_hash: string;
};

export type SealedRecord = AuditRecord & { hash: string };

/** The previous hash of the very first record. */
export const firstHash = "0".repeat(64);

/** What the chain adds to an event. */
export type AuditSeal = { severity: Severity; prevHash: string };

export function auditRecord(event: LoggedEvent, sealed: AuditSeal): AuditRecord {
  const { origin, jobId } = event;
  return {
    seq: event.seq,
    event: event.event,
    timestamp: new Date(event.ts).toISOString(),
    severity: sealed.severity,
    user_id: origin?.userId ?? null,
    tenant_id: event.tenantId,
    ip_address: origin?.ipAddress ?? null,
    user_agent: origin?.userAgent ?? null,
    job_id: jobId,
    job_seq: event.jobSeq,
    owner_id: event.ownerId,
    details: jobId === null ? event.details : { ...event.details, job_id: jobId },
    context: { endpoint: origin?.endpoint ?? null, method: origin?.method ?? null },
    prev_hash: sealed.prevHash,
  };
}

/** SHA-256 of the canonical form of the record, including the previous hash. */
export function auditHash(record: AuditRecord): string {
  return sha256Hex(auditText(record));
}

/**
 * The canonical form. A text without one, such as half of a surrogate pair in a message, must not stop the chain; JSON as
 * JavaScript writes it is just as fixed.
 */
export function auditText(record: AuditRecord): string {
  const { context } = record;
  try {
    return recordText({
      ...record,
      context: contextText(context),
      details: detailsText(record.details),
      event: canonicalString(record.event),
      ip_address: canonicalText(record.ip_address),
      job_id: canonicalText(record.job_id),
      owner_id: canonicalText(record.owner_id),
      prev_hash: canonicalString(record.prev_hash),
      severity: canonicalString(record.severity),
      tenant_id: canonicalText(record.tenant_id),
      timestamp: canonicalString(record.timestamp),
      user_agent: canonicalText(record.user_agent),
      user_id: canonicalText(record.user_id),
    });
  } catch {
    return JSON.stringify(record);
  }
}

/** The fields of a record, each in canonical form already. */
export type RecordTexts = Record<Exclude<keyof AuditRecord, "seq" | "job_seq">, string> &
  Pick<AuditRecord, "seq" | "job_seq">;

/**
 * The names of the fields are written out, in order: a busy log seals thousands of records a second, and sorting the same
 * names each time took most of it.
 */
export function recordText(record: RecordTexts): string {
  return (
    `{"context":${record.context},"details":${record.details},"event":${record.event}` +
    `,"ip_address":${record.ip_address},"job_id":${record.job_id},"job_seq":${record.job_seq}` +
    `,"owner_id":${record.owner_id},"prev_hash":${record.prev_hash},"seq":${record.seq}` +
    `,"severity":${record.severity},"tenant_id":${record.tenant_id},"timestamp":${record.timestamp}` +
    `,"user_agent":${record.user_agent},"user_id":${record.user_id}}`
  );
}

export function contextText({ endpoint, method }: AuditRecord["context"]): string {
  return `{"endpoint":${canonicalText(endpoint)},"method":${canonicalText(method)}}`;
}

export function canonicalText(value: string | null): string {
  return value === null ? "null" : canonicalString(value);
}

function detailsText(details: Record<string, unknown>): string {
  try {
    return canonicalize(details as JsonObject);
  } catch {
    return canonicalize(withDecimals(details));
  }
}

/** Details contain ordinary numbers; the canonical form needs to know which of them are decimals. */
function withDecimals(value: unknown): JsonValue {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : new Decimal(String(value));
  if (typeof value !== "object" || value === null) return value as JsonValue;
  if (Array.isArray(value)) return value.map(withDecimals);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withDecimals(member)]));
}
