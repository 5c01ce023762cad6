import { leasedBatchHead } from "../../contract/shapes/worker-shapes.ts";
import { WritError } from "../../core/errors.ts";
import type { LeasedBatch } from "../../signing/verify-batch-lease.ts";
import { receivedSignature } from "./received-signature.ts";

/** A claim with one lease, as it was received. The job tokens are not covered by the signature. */
export type ReceivedLease = Omit<LeasedBatch, "jobs"> & {
  jobs: (LeasedBatch["jobs"][number] & { job_token: string | undefined })[];
};

const head = leasedBatchHead.omit({ batch: true });
/** Inside a string, its quotes would have a backslash before them. */
const jobsMark = ',"jobs":[';
const row =
  /\[([1-9]\d{0,14}),(0|[1-9]\d{0,14}),(null|\["[a-z_]{1,50}"(?:,"[a-z_]{1,50}"){0,20}\]),(?:null|"([\w.-]{1,20000})"),/y;

/**
 * Reads the answer to a claim with one lease. A document is the part of the text that `lengths` names, and stays text until its
 * signature has been checked. Null for an answer of the older form. Why: ADR 0125.
 */
export function readLeasedBatch(text: string): ReceivedLease | null {
  const at = text.indexOf(jobsMark);
  if (at === -1) return null;
  const given = parsed(`${text.slice(0, at)}}`);
  const { success, data } = head.safeParse(given);
  if (!success) throw unexpected("before its jobs");
  const { lease, secret, lengths } = data;
  const jobs = readJobs(text, at + jobsMark.length, lengths);
  return { lease, secret, batch: receivedSignature.parse(given["batch"]), jobs };
}

function readJobs(text: string, from: number, lengths: readonly number[]): ReceivedLease["jobs"] {
  const jobs: ReceivedLease["jobs"] = [];
  let at = from;
  for (const [index, length] of lengths.entries()) {
    row.lastIndex = index === 0 ? at : at + 1;
    const found = row.exec(text);
    const end = row.lastIndex + length;
    if (found === null || length < 0 || text[end] !== "]" || (index > 0 && text[at] !== ","))
      throw unexpected(`at jobs.${index}`);
    const [, attempt, timeoutSec, limits = "null", job_token] = found;
    jobs.push({
      document: text.slice(end - length, end),
      attempt: Number(attempt),
      timeout_sec: Number(timeoutSec),
      limits_defaulted: limits === "null" ? undefined : (JSON.parse(limits) as string[]),
      job_token,
    });
    at = end + 1;
  }
  if (text.slice(at) !== "]}" || jobs.length === 0) throw unexpected("after its jobs");
  return jobs;
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw unexpected("before its jobs");
  }
}

function unexpected(place: string): WritError {
  return new WritError("HTTP_ERROR", `the response of the hub has an unexpected value ${place}`);
}
