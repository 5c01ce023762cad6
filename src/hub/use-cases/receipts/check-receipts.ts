import { createHash } from "node:crypto";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { OutputStream } from "../../../core/jobs/output-stream.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import type { OutputName } from "../../../output/outputs.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { loadVerifyingKey, type VerifyingKey, verifyText } from "../../../signing/ed25519.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { emptySha256 } from "../../../signing/receipt.ts";
import { isolationText, parseReceipt, type Receipt } from "../../../signing/receipt-text.ts";
import type { JobBrief } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import type { ReadReceipt } from "./read-receipt.ts";

/** Receipts under one signature, with the jobs as they were stored with the report. */
export type ReceiptBatch = {
  workerId: string;
  publicKey: string | null;
  /** The signed text: the one receipt, or the list of all hashes. */
  signed: string;
  signature: string;
  receipts: ReportedReceipt[];
  /** The call with the report. */
  origin: Origin;
};

/** A receipt with the facts that the worker reported in the same call; `outputFiles` is a canonical text. */
type ReportedReceipt = ReadReceipt & {
  job: JobBrief;
  exitCode: number | null;
  resultSha256: string | null;
  outputFiles: string | null;
  /** JSON; null if the report has none. */
  isolation: string | null;
  /** All of the output, if it came with the report. */
  smallOutput?: SmallOutput | undefined;
};

type ReceiptRefusal = { workerId: string; job: JobBrief; reason: string };

type Deps = Pick<HubDeps, "outputs" | "store">;

/** Compares receipts with the worker's key and with the hub's own data. Empty if everything matches. */
export async function checkReceipts(deps: Deps, batch: ReceiptBatch): Promise<ReceiptRefusal[]> {
  const { workerId, receipts } = batch;
  const [first] = receipts;
  if (first === undefined) return [];
  // The signature covers them all, so one that does not verify is reported once.
  const problem = signatureProblem(batch);
  if (problem !== null) return [{ workerId, job: first.job, reason: problem }];
  const refusals: ReceiptRefusal[] = [];
  for (const told of receipts) {
    const reason = await receiptProblem(deps, workerId, told);
    if (reason !== null) refusals.push({ workerId, job: told.job, reason });
  }
  return refusals;
}

function signatureProblem({ publicKey, signed, signature }: ReceiptBatch): string | null {
  if (publicKey === null) return "the worker has registered no key";
  const isSigned = verifyText(keyOf(publicKey), signed, signature);
  return isSigned ? null : "the signature is not by the key that the worker has registered";
}

/** Reading a key takes longer than checking a signature with it. */
const readKeys = new Map<string, VerifyingKey>();
const readKeysMax = 1_000;

function keyOf(pem: string): VerifyingKey {
  const known = readKeys.get(pem);
  if (known !== undefined) return known;
  const key = loadVerifyingKey(pem);
  if (readKeys.size >= readKeysMax) readKeys.clear();
  readKeys.set(pem, key);
  return key;
}

async function receiptProblem(deps: Deps, workerId: string, told: ReportedReceipt): Promise<string | null> {
  const { job, exitCode, resultSha256, outputFiles } = told;
  if (told.documentSha256 === job.documentSha256 && (await hasNoOutput(deps, told))) return null;
  let receipt: Receipt;
  try {
    receipt = told.receipt ?? parseReceipt(told.text);
  } catch (error) {
    if (error instanceof WritError) return error.message;
    throw error;
  }
  const output = await outputHashes(deps, told);
  const expected: Partial<Receipt> = {
    job_id: job.id,
    attempt: job.attempt,
    worker_id: workerId,
    document_sha256: job.documentSha256,
    exit_code: exitCode,
    result_sha256: resultSha256,
    stdout_sha256: output.stdout,
    stderr_sha256: output.stderr,
  };
  const wrong = (Object.keys(expected) as (keyof Receipt)[]).find(
    (field) => receipt[field] !== expected[field],
  );
  if (wrong === undefined) return isolationProblem(receipt, told) ?? filesProblem(receipt, outputFiles);
  // With a low ceiling, output may be removed before it is compared; that is not the worker's fault.
  const isOutput = wrong === "stdout_sha256" || wrong === "stderr_sha256";
  if (isOutput && (await isOutputDropped(deps, job))) return null;
  return `its ${wrong} does not match what the hub has`;
}

/** A report may leave it to the receipt. */
function isolationProblem({ isolation }: Receipt, { isolation: reported }: ReportedReceipt): string | null {
  if (reported === null || isolation === null) return null;
  const isSame = isolationText(parseJson(reported)) === isolationText(isolation);
  return isSame ? null : "its isolation does not match what the worker reported";
}

function filesProblem(receipt: Receipt, outputFiles: string | null): string | null {
  const isNone = receipt.output_files.length === 0 && outputFiles === null;
  const isSame = isNone || canonicalize(receipt.output_files) === (outputFiles ?? "[]");
  return isSame ? null : "its output_files do not match those that the worker reported";
}

async function hasNoOutput({ outputs }: Deps, { job: { id, attempt } }: ReportedReceipt): Promise<boolean> {
  const sizes = await outputs.appended.sizes({ jobId: id, attempt });
  return sizes.stdout + sizes.stderr === 0;
}

async function isOutputDropped({ store }: Deps, job: JobBrief): Promise<boolean> {
  const stored = await store.getJob({ jobId: job.id });
  return stored === null || stored.output.throughAttempt >= job.attempt;
}

async function outputHashes(
  deps: Deps,
  { job: { id, attempt }, smallOutput }: ReportedReceipt,
): Promise<Record<OutputStream, string>> {
  if (smallOutput !== undefined)
    return { stdout: hashBytes(smallOutput.stdout), stderr: hashBytes(smallOutput.stderr) };
  const sizes = await deps.outputs.appended.sizes({ jobId: id, attempt });
  if (sizes.stdout + sizes.stderr === 0) return { stdout: emptySha256, stderr: emptySha256 };
  const hashOf = (stream: OutputStream) => outputHash(deps, { jobId: id, attempt, stream }, sizes[stream]);
  return { stdout: await hashOf("stdout"), stderr: await hashOf("stderr") };
}

function hashBytes(bytes: Uint8Array): string {
  return bytes.length === 0 ? emptySha256 : createHash("sha256").update(bytes).digest("hex");
}

async function outputHash({ outputs }: Deps, output: OutputName, size: number): Promise<string> {
  if (size === 0) return emptySha256;
  const hash = createHash("sha256");
  for await (const chunk of outputs.read(output, { start: 0, end: size })) hash.update(chunk);
  return hash.digest("hex");
}
