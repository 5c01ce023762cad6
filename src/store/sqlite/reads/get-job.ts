import { sha256Hex } from "../../../signing/mac.ts";
import type { DamagedPart } from "../../jobs/find-damage.ts";
import type { GetJobInput, StoredJob } from "../../store.ts";
import { droppedSizes } from "../acts/output-acts.ts";
import type { Context } from "../context.ts";
import { checkDocument } from "../jobs/check-document.ts";
import { idBytes } from "../jobs/job-entry.ts";
import { compareEntry } from "./compare-entry.ts";
import { type FoundJob, findRow } from "./find-row.ts";

type Sources = Pick<Context, "sql" | "frames" | "names" | "jobs" | "tallies"> &
  Partial<Pick<Context, "frame">>;

/** From memory, or from the row and the frames that it names; both are checked against what was accepted. Why: ADR 0116. */
export function getJob(
  context: Sources,
  { jobId, tenantId = null, isCompared = false }: GetJobInput,
): StoredJob | null {
  const found = find(context, jobId);
  if (found === null) return null;
  const { entry, isHistoryLost, isCut } = found;
  const { record: job } = entry;
  if (tenantId !== null && job.tenantId !== tenantId) return null;
  const { state, document } = checkDocument(context, entry);
  const damaged: DamagedPart[] = [];
  if (isCut) damaged.push("row");
  if (isHistoryLost) damaged.push("fail_history");
  if (state !== "genuine") damaged.push("document");
  // Jobs of a version that checked no hash may have one that a worker chose.
  const isHashed = job.result !== null && job.seq > context.tallies.get("unchecked_hash_seq");
  if (isHashed && sha256Hex(job.result!) !== job.resultHash) damaged.push("result");
  const stored = { job, document, output: droppedSizes(context.sql, job.seq), damaged };
  if (!isCompared) return stored;
  const compared = compareEntry(context, entry);
  return {
    ...stored,
    damaged: [...new Set([...damaged, ...compared.damaged])],
    isReceiptRefused: compared.isReceiptRefused,
  };
}

function find(context: Sources, jobId: string): FoundJob | null {
  const known = context.jobs.find(jobId);
  if (known !== undefined) return { entry: known, isHistoryLost: false, isCut: false };
  const id = idBytes(jobId);
  return id === null ? null : findRow(context, "id", id);
}
