import type { Origin } from "../../core/events.ts";
import type { ChangeRules } from "../../core/outcome.ts";
import type { ChangeAnswer, JobChange, ReceiptSignature } from "../store.ts";
import type { Context } from "./context.ts";
import { loadJob } from "./job-row.ts";
import { saveReceiptSignature } from "./receipt-signatures.ts";
import { writeJob } from "./write-job.ts";

type ChangeInput = {
  changes: JobChange[];
  rules: ChangeRules;
  origin: Origin | null;
  receiptSignature?: ReceiptSignature | null;
};

/** Applies each change alone; the answers are in the order of the changes. */
export function changeJobs(context: Context, input: ChangeInput): ChangeAnswer[] {
  const { changes, rules, origin, receiptSignature = null } = input;
  const answers = changes.map(({ jobId, change }): ChangeAnswer => {
    const job = context.held.get(jobId) ?? loadJob(context, jobId);
    return job === null ? { kind: "unknown" } : writeJob(context, job, change, { rules, origin });
  });
  if (receiptSignature !== null && answers.some(({ kind }) => kind === "moved")) {
    saveReceiptSignature(context, receiptSignature);
  }
  return answers;
}
