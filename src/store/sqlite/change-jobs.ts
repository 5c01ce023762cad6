import type { ChangeContext } from "../../core/effects.ts";
import type { Origin } from "../../core/events.ts";
import type { ChangeRules } from "../../core/outcome.ts";
import { briefOf } from "../job-brief.ts";
import type { ChangeAnswer, JobChange, ReceiptSignature } from "../store.ts";
import type { Context } from "./context.ts";
import { loadJob } from "./job-row.ts";
import { saveReceiptSignature } from "./receipt-signatures.ts";
import { type WriteAnswer, writeJob } from "./write-job.ts";

type ChangeInput = {
  changes: JobChange[];
  rules: ChangeRules;
  origin: Origin | null;
  receiptSignature?: ReceiptSignature | null;
};

/** Applies each change by itself; the answers are in the order of the changes. */
export function changeJobs(context: Context, input: ChangeInput): ChangeAnswer[] {
  const { changes, receiptSignature = null } = input;
  const answers = changes.map((change): ChangeAnswer => {
    const answer = changeJob(context, change, input);
    return answer.kind === "unknown" ? answer : { ...answer, job: briefOf(answer.job) };
  });
  if (receiptSignature !== null && answers.some(({ kind }) => kind === "moved")) {
    saveReceiptSignature(context, receiptSignature);
  }
  return answers;
}

export function changeJob(context: Context, { jobId, change }: JobChange, how: ChangeContext): WriteAnswer {
  const job = context.held.get(jobId) ?? loadJob(context, jobId);
  return job === null ? { kind: "unknown" } : writeJob(context, job, change, how);
}
