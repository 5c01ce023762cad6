import type { Origin } from "../../core/events.ts";
import type { JsonObject } from "../../core/text/json-value.ts";
import { canonicalize, canonicalString } from "../../signing/canonical.ts";
import { KnownTexts } from "../jobs/known-texts.ts";
import {
  type AuditSeal,
  auditRecord,
  auditText,
  canonicalText,
  contextText,
  type RecordTexts,
  recordText,
} from "./audit-record.ts";
import { readEvent, type StoredEvent } from "./stored-event.ts";

/**
 * The text of an event that is hashed, as `auditText` writes it. Parsing, sorting and quoting the same details and origins
 * again for thousands of events a second took as long as writing them, so what is known is kept. Why: ADR 0073.
 */
export function sealText(stored: StoredEvent, sealed: AuditSeal): string {
  try {
    if (stored.jobId !== null) return knownText(stored, stored.jobId, sealed);
  } catch {
    // Something in it has no canonical form; `auditText` knows what to do then.
  }
  return auditText(auditRecord(readEvent(stored), sealed));
}

function knownText(stored: StoredEvent, jobId: string, sealed: AuditSeal): string {
  const { before, after } = details.of(stored.details);
  const job = canonicalString(jobId);
  return recordText({
    ...origins.of(stored.origin ?? "null"),
    details: `{${before}"job_id":${job}${after}}`,
    event: quoted.of(stored.event),
    job_id: job,
    job_seq: stored.jobSeq,
    owner_id: quotedName(stored.ownerId),
    prev_hash: canonicalString(sealed.prevHash),
    seq: stored.seq,
    severity: quoted.of(sealed.severity),
    tenant_id: quotedName(stored.tenantId),
    timestamp: timestampOf(stored.ts),
  });
}

/** The details of a record in canonical form, split where the id of its job goes. */
type Details = { before: string; after: string };
const details = new KnownTexts(cutDetails);

function cutDetails(json: string): Details {
  const { job_id: _, ...rest } = JSON.parse(json) as JsonObject;
  const part = (keep: (key: string) => boolean): string =>
    canonicalize(Object.fromEntries(Object.entries(rest).filter(([key]) => keep(key)))).slice(1, -1);
  const before = part((key) => key < "job_id");
  const after = part((key) => key > "job_id");
  return { before: before === "" ? "" : `${before},`, after: after === "" ? "" : `,${after}` };
}

const origins = new KnownTexts(originTexts);

function originTexts(json: string): Pick<RecordTexts, "context" | "ip_address" | "user_agent" | "user_id"> {
  const origin = JSON.parse(json) as Origin | null;
  return {
    context: contextText({ endpoint: origin?.endpoint ?? null, method: origin?.method ?? null }),
    ip_address: canonicalText(origin?.ipAddress ?? null),
    user_agent: canonicalText(origin?.userAgent ?? null),
    user_id: canonicalText(origin?.userId ?? null),
  };
}

const quoted = new KnownTexts(canonicalString);

function quotedName(name: string | null): string {
  return name === null ? "null" : quoted.of(name);
}

/** The events of one commit have one time, or few. */
let last = { ts: Number.NaN, text: "" };

function timestampOf(ts: number): string {
  if (ts !== last.ts) last = { ts, text: `"${new Date(ts).toISOString()}"` };
  return last.text;
}
