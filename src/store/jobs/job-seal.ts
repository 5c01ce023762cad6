import type { JobRecord } from "../../core/jobs/job.ts";
import { isTimeoutOfRetries } from "../../core/jobs/retry.ts";
import { checkSeal, sealDocument } from "../../signing/mac.ts";
import { KnownTexts } from "./known-texts.ts";

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
  | "timeoutSec"
  | "documentTimeoutSec"
  | "documentSha256"
  | "idempotencyKey"
  | "terms"
>;

/**
 * The seal of a document together with the columns that decide who runs it, how often and for how long. Why: ADR 0006, ADR 0128.
 */
export function sealJob(macKey: Buffer, job: Routed, document: string): Buffer {
  return sealDocument(macKey, { document, routing: routingOf(job) });
}

export function isSealed(macKey: Buffer, job: Routed, document: string, mac: Uint8Array): boolean {
  return findRouting(macKey, job, document, mac) !== null;
}

/** The routing that the seal covers; null if the seal does not match. */
export function findRouting(macKey: Buffer, job: Routed, document: string, mac: Uint8Array): string | null {
  const routing = routingOf(job);
  if (checkSeal(macKey, { document, routing }, mac)) return routing;
  const earlier = earlierRoutingOf(job);
  return earlier !== null && checkSeal(macKey, { document, routing: earlier }, mac) ? earlier : null;
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

/**
 * The columns that a sealed routing names; null if it is not one. What a receipt does not need, and a routing does not say, is
 * empty.
 */
export function readWholeRouting(routing: string): (Routed & Pick<JobRecord, "requestHash">) | null {
  const list = parseList(routing) as never[];
  if (list.length < 10) return null;
  const { attempts_chosen, limits_defaulted, terms, timeout_sec } = (list[10] ?? {}) as Record<string, never>;
  return {
    id: list[0]!,
    tenantId: list[1]!,
    userId: list[2]!,
    type: list[3]!,
    priority: list[4]!,
    queueKey: list[5]!,
    documentTimeoutSec: list[6]!,
    maxAttempts: list[7]!,
    documentSha256: list[8]!,
    idempotencyKey: list[9]!,
    attemptsChosen: attempts_chosen ?? false,
    limitsDefaulted: limits_defaulted ?? null,
    terms: terms ?? null,
    // Earlier versions did not seal it; it was then what retries lead to.
    timeoutSec: timeout_sec ?? list[6]!,
    requestHash: null,
  };
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
 * The id is included; otherwise two rows could swap their documents. The timeout of the next lease changes with retries,
 * and the code that changes it seals the job again.
 */
export function routingOf(job: Routed): string {
  return routingText(job, { ...newerColumns(job), timeout_sec: job.timeoutSec });
}

/**
 * Earlier versions did not seal the timeout, so nothing but a timeout that retries lead to is accepted from them. A job of
 * this version cannot be passed off as one of theirs: that would need a seal without its timeout.
 */
function earlierRoutingOf(job: Routed): string | null {
  return isTimeoutOfRetries(job) ? routingText(job, newerColumns(job)) : null;
}

/** What rows of earlier versions did not have, with values only that such a row cannot have. */
function newerColumns(job: Routed): Record<string, unknown> {
  return {
    ...(job.attemptsChosen ? { attempts_chosen: true } : {}),
    ...(job.limitsDefaulted === null ? {} : { limits_defaulted: job.limitsDefaulted }),
    ...(job.terms === null ? {} : { terms: job.terms }),
  };
}

/**
 * A list as JSON. Written field by field: the names that jobs share, and the key of their queue, which is long, are quoted
 * once.
 */
function routingText(job: Routed, newer: Record<string, unknown>): string {
  const columns =
    `${JSON.stringify(job.id)},${quoted.of(job.tenantId)},${quoted.of(job.userId)},${quoted.of(job.type)}` +
    `,${job.priority},${quoted.of(job.queueKey)},${job.documentTimeoutSec},${job.maxAttempts}` +
    `,${JSON.stringify(job.documentSha256)},${JSON.stringify(job.idempotencyKey)}`;
  const added = JSON.stringify(newer);
  return added === "{}" ? `[${columns}]` : `[${columns},${added}]`;
}

const quoted = new KnownTexts((text) => JSON.stringify(text));
