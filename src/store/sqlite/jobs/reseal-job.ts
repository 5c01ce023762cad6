import type { JobRecord } from "../../../core/jobs/job.ts";
import { isSealed, sealJob } from "../../jobs/job-seal.ts";
import type { Context } from "../context.ts";

/** Seals a job again when its timeout has changed. A seal that was broken before stays broken. Why: ADR 0006. */
export function resealJob(context: Context, before: JobRecord, after: JobRecord): void {
  if (after.timeoutSec === before.timeoutSec) return;
  const sealed = loadSealed(context, after.seq);
  if (sealed === null || !isSealed(context.macKey, before, sealed.document, sealed.mac)) return;
  const mac = sealJob(context.macKey, after, sealed.document);
  context.sql.run("UPDATE documents SET mac = ? WHERE job_seq = ?", mac, after.seq);
}

export function loadSealed(context: Context, jobSeq: number): { document: string; mac: Uint8Array } | null {
  return context.sql.first("SELECT document, mac FROM documents WHERE job_seq = ?", jobSeq);
}
