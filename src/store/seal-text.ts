import type { Origin } from "../core/events.ts";
import type { JsonObject } from "../core/json-value.ts";
import { canonicalize, canonicalString } from "../signing/canonical.ts";
import { type AuditSeal, auditRecord, auditText } from "./audit-record.ts";
import { readEvent, type StoredEvent } from "./stored-event.ts";

/** The details of a record in canonical form, split where the id of its job goes. */
type Details = { before: string; after: string };

/** A few hundred bytes each. The events of one kind of job differ only in the id, so a busy log repeats few. */
const knownMax = 1_000;
const knownDetails = new Map<string, Details | null>();
const knownOrigins = new Map<string, Origin>();

/**
 * The text of an event that is hashed, as `auditText` writes it. Parsing and sorting the same details again for
 * thousands of events a second took as long as writing them, so known details are cached.
 */
export function sealText(stored: StoredEvent, sealed: AuditSeal): string {
  const details = stored.jobId === null ? null : remember(knownDetails, stored.details, cutDetails);
  if (details === null) return auditText(auditRecord(readEvent(stored), sealed));
  const origin = stored.origin === null ? null : remember(knownOrigins, stored.origin, JSON.parse);
  const record = auditRecord({ ...stored, details: {}, origin }, sealed);
  return auditText(record, `{${details.before}"job_id":${canonicalString(stored.jobId!)}${details.after}}`);
}

/** Null if these details have no plain canonical form; then the record's own text is used. */
function cutDetails(json: string): Details | null {
  const { job_id: _, ...details } = JSON.parse(json) as JsonObject;
  const part = (keep: (key: string) => boolean): string =>
    canonicalize(Object.fromEntries(Object.entries(details).filter(([key]) => keep(key)))).slice(1, -1);
  try {
    const before = part((key) => key < "job_id");
    const after = part((key) => key > "job_id");
    return { before: before === "" ? "" : `${before},`, after: after === "" ? "" : `,${after}` };
  } catch {
    return null;
  }
}

function remember<T>(known: Map<string, T>, text: string, read: (text: string) => T): T {
  const seen = known.get(text);
  if (seen !== undefined) return seen;
  if (known.size >= knownMax) known.clear();
  const value = read(text);
  known.set(text, value);
  return value;
}
