import type { JobRecord } from "../../core/jobs/job.ts";
import { KnownTexts } from "../jobs/known-texts.ts";
import { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import type { SharedTexts } from "./shared-texts.ts";

/**
 * What decides who runs a job, how often and for how long: everything that a row could be edited in to change that.
 * Why: ADR 0105, ADR 0128.
 */
export const lineColumns = [
  "id",
  "tenantId",
  "userId",
  "type",
  "priority",
  "queueKey",
  "documentTimeoutSec",
  "timeoutSec",
  "maxAttempts",
  "attemptsChosen",
  "limitsDefaulted",
  "documentSha256",
  "idempotencyKey",
  "requestHash",
  "terms",
] as const satisfies (keyof JobRecord)[];

type LinedJob = Pick<JobRecord, (typeof lineColumns)[number]>;

/** What a job was when its line was written, beside what the line seals: with both, its row can be made again. */
type Beginning = Pick<JobRecord, "seq" | "createdAt" | "runAt" | "queueTtlSec">;

/** A line as it is read. The hash of the document is in the list of its frame, at the same place. */
export type JobLine = Omit<LinedJob, "documentSha256"> & Beginning;

/** What thousands of jobs have in common, as a JSON list that they share. */
function sharedPart(job: SharedPart): string {
  const { tenantId, userId, type, priority, queueKey, documentTimeoutSec, timeoutSec } = job;
  return (
    `[${quoted.of(tenantId)},${quoted.of(userId)},${quoted.of(type)},${priority},${quoted.of(queueKey)}` +
    `,${documentTimeoutSec},${timeoutSec},${job.maxAttempts},${job.attemptsChosen}` +
    `,${job.limitsDefaulted === null ? "null" : quoted.of(job.limitsDefaulted)}]`
  );
}

/** Appends the line of a job. Its terms are the rest of it, and take no byte of a job that has none. */
export function writeJobLine(bytes: ByteWriter, texts: SharedTexts, job: JobLine): void {
  const { id, idempotencyKey, requestHash, createdAt, runAt, queueTtlSec } = job;
  const key = formOf(idempotencyKey, id);
  const request = formOf(requestHash, id);
  bytes.varint(texts.numberOf(sharedPart(job)));
  bytes.byte(
    key | (request << 3) | (runAt === createdAt ? 0 : hasRunAt) | (queueTtlSec === null ? 0 : hasTtl),
  );
  bytes.hex(id.replaceAll("-", ""));
  writeText(bytes, key, idempotencyKey);
  writeText(bytes, request, requestHash);
  bytes.varint(job.seq);
  bytes.time(createdAt);
  if (runAt !== createdAt) bytes.time(runAt);
  if (queueTtlSec !== null) bytes.varint(queueTtlSec);
  if (job.terms !== null) bytes.text(job.terms);
}

/** Null if nothing can be read. */
export function readJobLine(line: Buffer, texts: readonly string[]): JobLine | null {
  try {
    return readLine(new ByteReader(line), texts);
  } catch {
    // The bytes are not those of a line.
    return null;
  }
}

function readLine(bytes: ByteReader, texts: readonly string[]): JobLine {
  const shared = parts.of(texts[bytes.varint()] ?? "");
  const flags = bytes.byte();
  const id = idOfHex(bytes.hex(16));
  const idempotencyKey = readText(bytes, flags & 7, id) ?? "";
  const requestHash = readText(bytes, (flags >> 3) & 7, id);
  const seq = bytes.varint();
  const createdAt = bytes.time();
  const runAt = flags & hasRunAt ? bytes.time() : createdAt;
  const queueTtlSec = flags & hasTtl ? bytes.varint() : null;
  const terms = bytes.isAtEnd ? null : bytes.rest();
  return { id, idempotencyKey, requestHash, seq, createdAt, runAt, queueTtlSec, terms, ...shared };
}

/** The columns in which a row differs from the line that was written for it; none if it is as it was accepted. */
export function differingColumns(job: LinedJob, line: Omit<LinedJob, "documentSha256">): (keyof LinedJob)[] {
  return lineColumns.filter((column) => column !== "documentSha256" && line[column] !== job[column]);
}

const hasRunAt = 64;
const hasTtl = 128;

/** How a key or a hash is written. */
const absent = 0;
const likeId = 1;
const hash64 = 2;
const prefixedHash = 3;
const anyText = 4;
const isHash = /^[0-9a-f]{64}$/;
const isPrefixedHash = /^sha256:[0-9a-f]{64}$/;

function formOf(text: string | null, id: string): number {
  if (text === null) return absent;
  if (text === id) return likeId;
  if (isPrefixedHash.test(text)) return prefixedHash;
  return isHash.test(text) ? hash64 : anyText;
}

function writeText(bytes: ByteWriter, form: number, text: string | null): void {
  if (form === hash64) bytes.hex(text!);
  if (form === prefixedHash) bytes.hex(text!.slice("sha256:".length));
  if (form === anyText) bytes.sizedText(text!);
}

function readText(bytes: ByteReader, form: number, id: string): string | null {
  if (form === absent) return null;
  if (form === likeId) return id;
  if (form === hash64) return bytes.hex(32);
  return form === prefixedHash ? `sha256:${bytes.hex(32)}` : bytes.sizedText();
}

/** The id as callers know it. */
export function idOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

type SharedPart = Omit<LinedJob, "id" | "documentSha256" | "idempotencyKey" | "requestHash" | "terms">;

const parts = new KnownTexts((text): SharedPart => {
  const list = JSON.parse(text) as never[];
  return {
    tenantId: list[0]!,
    userId: list[1]!,
    type: list[2]!,
    priority: list[3]!,
    queueKey: list[4]!,
    documentTimeoutSec: list[5]!,
    timeoutSec: list[6]!,
    maxAttempts: list[7]!,
    attemptsChosen: list[8]!,
    limitsDefaulted: list[9]!,
  };
});
const quoted = new KnownTexts((text) => JSON.stringify(text));
