import type { JobRecord } from "../core/job.ts";
import { checkSeal, sealDocument } from "../signing/mac.ts";

type Routed = Pick<
  JobRecord,
  | "id"
  | "tenantId"
  | "userId"
  | "type"
  | "priority"
  | "queueKey"
  | "maxAttempts"
  | "attemptsChosen"
  | "limitsDefaulted"
  | "documentTimeoutSec"
  | "documentSha256"
  | "idempotencyKey"
>;

/** The seal of a document together with the columns that decide who runs it and how often. */
export function sealJob(macKey: Buffer, job: Routed, document: string): Buffer {
  return sealDocument(macKey, { document, routing: routingOf(job) });
}

export function isSealed(macKey: Buffer, job: Routed, document: string, mac: Uint8Array): boolean {
  return checkSeal(macKey, { document, routing: routingOf(job) }, mac);
}

/** A kept receipt belongs to the job that it is filed under only if the sealed routing names that job. */
export function isReceiptSealed(
  macKey: Buffer,
  kept: { jobId: string; document: string; routing: string; mac: Uint8Array },
): boolean {
  return readRouting(kept.routing).id === kept.jobId && checkSeal(macKey, kept, kept.mac);
}

/** Whose job it was, according to the routing; empty strings if it is not valid, for which no seal matches. */
export function readRouting(routing: string): Pick<Routed, "id" | "tenantId" | "userId" | "documentSha256"> {
  const parts = parseList(routing);
  const text = (index: number): string => (typeof parts[index] === "string" ? parts[index] : "");
  return { id: text(0), tenantId: text(1), userId: text(2), documentSha256: text(8) };
}

function parseList(routing: string): unknown[] {
  try {
    const list: unknown = JSON.parse(routing);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/**
 * The id is included; otherwise two rows could swap their documents. The text for rows of earlier versions must not
 * change: newer columns follow in an object, and only with values that such a row cannot have.
 */
export function routingOf(job: Routed): string {
  const newer = {
    ...(job.attemptsChosen ? { attempts_chosen: true } : {}),
    ...(job.limitsDefaulted === null ? {} : { limits_defaulted: job.limitsDefaulted }),
  };
  return JSON.stringify([
    job.id,
    job.tenantId,
    job.userId,
    job.type,
    job.priority,
    job.queueKey,
    job.documentTimeoutSec,
    job.maxAttempts,
    job.documentSha256,
    job.idempotencyKey,
    ...(Object.keys(newer).length === 0 ? [] : [newer]),
  ]);
}
