import { createHash } from "node:crypto";
import { WritError } from "../../core/errors.ts";
import type { JobRecord } from "../../core/job.ts";
import { readRange } from "../../output/follow-output.ts";
import { outputPath, sizeOf } from "../../output/output-log.ts";
import { loadVerifyingKey, verifyText } from "../../signing/ed25519.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { EMPTY_SHA256, parseReceipt, type Receipt } from "../../signing/receipt.ts";
import type { HubDeps } from "../deps.ts";

/** What a worker has signed for, with the jobs as they were written when it said so. */
export type ReceiptBatch = {
  workerId: string;
  publicKey: string | null;
  /** What the signature covers: the one receipt, or the list of the hashes of all. */
  signed: string;
  signature: string;
  receipts: { job: JobRecord; text: string }[];
};

export type ReceiptRefusal = { workerId: string; job: JobRecord; reason: string };

type Deps = Pick<HubDeps, "outputsDir" | "store">;

/** Compares receipts with the key of their worker and with what the hub itself has seen. Empty when all is well. */
export async function checkReceipts(deps: Deps, batch: ReceiptBatch): Promise<ReceiptRefusal[]> {
  const { workerId, receipts } = batch;
  const [first] = receipts;
  if (first === undefined) return [];
  // The signature covers them all, so one that does not verify is told of once.
  const problem = signatureProblem(batch);
  if (problem !== null) return [{ workerId, job: first.job, reason: problem }];
  const refusals: ReceiptRefusal[] = [];
  for (const { job, text } of receipts) {
    const reason = await receiptProblem(deps, { workerId, job, text });
    if (reason !== null) refusals.push({ workerId, job, reason });
  }
  return refusals;
}

function signatureProblem({ publicKey, signed, signature }: ReceiptBatch): string | null {
  if (publicKey === null) return "the worker has registered no key";
  const isSigned = verifyText(loadVerifyingKey(publicKey), signed, signature);
  return isSigned ? null : "the signature is not by the key that the worker has registered";
}

type Told = { workerId: string; job: JobRecord; text: string };

async function receiptProblem(deps: Deps, { workerId, job, text }: Told): Promise<string | null> {
  let receipt: Receipt;
  try {
    receipt = parseReceipt(text);
  } catch (error) {
    if (error instanceof WritError) return error.message;
    throw error;
  }
  const result = job.result ?? job.partialResult;
  const expected: Partial<Record<keyof Receipt, unknown>> = {
    job_id: job.id,
    attempt: job.attempt,
    worker_id: workerId,
    document_sha256: job.documentSha256,
    exit_code: job.exitCode,
    result_sha256: result === null ? null : sha256Hex(result),
    stdout_sha256: await outputHash(deps, job, "stdout"),
    stderr_sha256: await outputHash(deps, job, "stderr"),
  };
  const wrong = Object.entries(expected).find(([field, value]) => receipt[field as keyof Receipt] !== value);
  if (wrong === undefined) return null;
  // Under a low ceiling output may be gone before it was looked at, and that is not the worker's doing.
  const isOutput = wrong[0] === "stdout_sha256" || wrong[0] === "stderr_sha256";
  if (isOutput && (await isOutputDropped(deps, job))) return null;
  return `its ${wrong[0]} is not what the hub has`;
}

async function isOutputDropped({ store }: Deps, job: JobRecord): Promise<boolean> {
  const stored = await store.getJob({ jobId: job.id });
  return stored === null || (stored.droppedOutput?.throughAttempt ?? 0) >= job.attempt;
}

async function outputHash(deps: Deps, job: JobRecord, stream: "stdout" | "stderr"): Promise<string> {
  const path = outputPath(deps.outputsDir, job.id, job.attempt, stream);
  const size = await sizeOf(path);
  if (size === 0) return EMPTY_SHA256;
  const hash = createHash("sha256");
  for await (const chunk of readRange(path, 0, size)) hash.update(chunk);
  return hash.digest("hex");
}
