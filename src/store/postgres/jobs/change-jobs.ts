import type { ChangeContext } from "../../../core/jobs/effects.ts";
import { decideEffects } from "../../../core/jobs/effects.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { Outcome } from "../../../core/jobs/outcome.ts";
import { largerStream, outputTooLargeText } from "../../../core/jobs/small-output.ts";
import { lingersUntil } from "../../../core/lanes/lane-move.ts";
import { briefOf } from "../../jobs/job-brief.ts";
import type { ChangeAnswer, JobChange, ReceiptSignature, Store } from "../../store.ts";
import { saveReceiptSignature } from "../log/receipt-signatures.ts";
import type { Answer } from "../transaction/answers.ts";
import { type LockedJobs, lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { KeptJob } from "../transaction/work.ts";
import { type LockedOutputs, lockOutputs } from "./note-output.ts";
import { settleObjects } from "./settle-objects.ts";
import { keepSmallOutput } from "./small-outputs.ts";
import { type Holders, readHolders } from "./unique-keys.ts";

type ChangeInput = Parameters<Store["changeJobs"]>[0];

/** The outcome of a change, with the whole record as it is now. */
type WriteAnswer =
  | ((Extract<Outcome, { kind: "refused" | "duplicate" }> | { kind: "moved" }) & { job: JobRecord })
  | { kind: "unknown" };

/** Applies each change by itself; the answers are in the order of the changes. Why: ADR 0022, ADR 0080. */
export async function changeJobs(tx: Transaction, inputs: ChangeInput[]): Promise<Answer[]> {
  const changes = inputs.flatMap((input) => input.changes);
  const jobs = await tx.begin(() =>
    lockJobs(
      tx,
      changes.map(({ jobId }) => jobId),
    ),
  );
  const retried = changes.filter(({ change }) => change.act === "retry");
  const holders = await readHolders(
    tx,
    retried.flatMap(({ jobId }) => jobs.get(jobId)?.job ?? []),
  );
  const noisy = changes.filter(({ smallOutput }) => smallOutput !== undefined);
  const outputs = await lockOutputs(
    tx.sql,
    noisy.flatMap(({ jobId }) => jobs.get(jobId)?.job.seq ?? []),
  );
  return tx.inBook(() =>
    inputs.map((input) => ({ value: changeAll(tx, input, { jobs, outputs, holders }) })),
  );
}

type Locked = { jobs: LockedJobs; outputs: LockedOutputs; holders: Holders };

function changeAll(tx: Transaction, input: ChangeInput, locked: Locked): ChangeAnswer[] {
  const answers = input.changes.map((change): ChangeAnswer => {
    const answer = changeJob(tx, change, locked, input);
    return answer.kind === "unknown" ? answer : { ...answer, job: briefOf(answer.job) };
  });
  const signature: ReceiptSignature | null = input.receiptSignature ?? null;
  if (signature !== null && answers.some(({ kind }) => kind === "moved")) saveReceiptSignature(tx, signature);
  return answers;
}

function changeJob(tx: Transaction, asked: JobChange, locked: Locked, how: ChangeContext): WriteAnswer {
  const { jobId, smallOutput } = asked;
  const kept = locked.jobs.get(jobId);
  if (kept === undefined) return { kind: "unknown" };
  const change = asked.change.act === "retry" ? retryOf(kept.job, locked.holders, how) : asked.change;
  if (smallOutput === undefined) return writeJob(tx, locked.jobs, kept, change, how);
  const bytesMax = tx.shared.book.quota(kept.job.tenantId).max_output_bytes ?? Number.MAX_SAFE_INTEGER;
  if (largerStream(smallOutput) > bytesMax)
    return { kind: "refused", code: "TOO_LARGE", message: outputTooLargeText(bytesMax), job: kept.job };
  const answer = writeJob(tx, locked.jobs, kept, change, how);
  if (answer.kind === "moved") keepSmallOutput(tx, locked.outputs, { job: answer.job, output: smallOutput });
  return answer;
}

/** Inside of `inBook`: asks the rules for a change of a locked job, and collects what follows. */
export function writeJob(
  tx: Transaction,
  jobs: LockedJobs,
  kept: KeptJob,
  change: Parameters<typeof decideEffects>[1],
  how: ChangeContext,
): WriteAnswer {
  const outcome = decideEffects(kept.job, change, how);
  if (outcome.kind !== "moved") return { ...outcome, job: kept.job };
  const now = tx.apply(kept, outcome.effects, kept.queueId);
  tx.lanes.note(kept, now, {
    nowMs: how.rules.nowMs,
    lingersUntil: lingersUntil(change.act, how.rules),
    isAnnounced: outcome.effects.notices.isReady,
  });
  jobs.set(now.job.id, now);
  settleObjects(tx, kept.job, now.job, change);
  return { kind: "moved", job: now.job };
}

/** A retry takes no key, and must not run beside the job that has it now. */
function retryOf(job: JobRecord, holders: Holders, { rules }: ChangeContext): JobChange["change"] {
  const holder = holders.of(job, rules.nowMs);
  return { act: "retry", isKeyTaken: holder !== undefined && holder.job.seq !== job.seq };
}
