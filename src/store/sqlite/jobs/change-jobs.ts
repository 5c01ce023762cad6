import type { Origin } from "../../../core/events.ts";
import type { ChangeContext } from "../../../core/jobs/effects.ts";
import type { ChangeRules } from "../../../core/jobs/outcome.ts";
import { largerStream, outputTooLargeText } from "../../../core/jobs/small-output.ts";
import { briefOf } from "../../jobs/job-brief.ts";
import type { ChangeAnswer, JobChange, ReceiptSignature } from "../../store.ts";
import { keepSmallOutput } from "../acts/output-acts.ts";
import type { Context } from "../context.ts";
import { saveReceiptSignature } from "../log/receipt-signatures.ts";
import type { JobEntry } from "./job-entry.ts";
import { findById } from "./load-entry.ts";
import { findHolder } from "./unique-keys.ts";
import { type WriteAnswer, writeJob } from "./write-job.ts";

type ChangeInput = {
  changes: JobChange[];
  rules: ChangeRules;
  origin: Origin | null;
  receiptSignature?: ReceiptSignature | null;
};

/** Applies each change by itself; the answers are in the order of the changes. Why: ADR 0116. */
export function changeJobs(context: Context, input: ChangeInput): ChangeAnswer[] {
  const { changes, receiptSignature = null } = input;
  const answers = changes.map((change) => briefAnswer(changeJob(context, change, input)));
  if (receiptSignature !== null && answers.some(({ kind }) => kind === "moved"))
    saveReceiptSignature(context, receiptSignature);
  return answers;
}

export function briefAnswer(answer: WriteAnswer): ChangeAnswer {
  return answer.kind === "unknown" ? answer : { ...answer, job: briefOf(answer.job) };
}

export function changeJob(context: Context, asked: JobChange, how: ChangeContext): WriteAnswer {
  const { jobId, smallOutput } = asked;
  const entry = findById(context, jobId);
  if (entry === null) return { kind: "unknown" };
  const change = asked.change.act === "retry" ? retryOf(context, entry, how) : asked.change;
  if (smallOutput === undefined) return writeJob(context, entry, change, how);
  const bytesMax = context.book.quota(entry.record.tenantId).max_output_bytes ?? Number.MAX_SAFE_INTEGER;
  if (largerStream(smallOutput) > bytesMax)
    return { kind: "refused", code: "TOO_LARGE", message: outputTooLargeText(bytesMax), job: entry.record };
  const answer = writeJob(context, entry, change, how);
  if (answer.kind === "moved") keepSmallOutput(context, answer.job, smallOutput);
  return answer;
}

/** A retry takes no key, and must not run beside the job that has it now. */
function retryOf(context: Context, { record }: JobEntry, { rules }: ChangeContext): JobChange["change"] {
  const holder = findHolder(context, record, rules.nowMs);
  return { act: "retry", isKeyTaken: holder !== null && holder.record.seq !== record.seq };
}
