import type { JobRecord } from "../../core/jobs/job.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { isSealed } from "./job-seal.ts";

/**
 * A part of a stored job that cannot be trusted, by the name under which readers know it. `document` stands for
 * everything that was submitted, `row` for a row of which some columns cannot be read, `state` for a state, attempt or
 * exit code that contradicts the timeline.
 */
export type DamagedPart =
  | "row"
  | "state"
  | "document"
  | "receipt"
  | "result"
  | "partial_result"
  | "fail_history"
  | "exit_code"
  | "progress"
  | "isolation"
  | "usage"
  | "output_files";

type Kept = {
  job: JobRecord;
  document: string;
  mac: Uint8Array | null;
  /** Jobs up to this number may have a hash that a worker chose. */
  uncheckedHashSeq: number;
};

/** The parts of a job that do not match their seal or their hash. Why: ADR 0029. */
export function findDamage(macKey: Buffer, { job, document, mac, uncheckedHashSeq }: Kept): DamagedPart[] {
  const damaged: DamagedPart[] = [];
  if (mac === null || !isSealed(macKey, job, document, mac)) damaged.push("document");
  const isHashed = job.result !== null && job.seq > uncheckedHashSeq;
  if (isHashed && sha256Hex(job.result!) !== job.resultHash) damaged.push("result");
  return damaged;
}
