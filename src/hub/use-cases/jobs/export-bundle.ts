import type { JobDocument } from "../../../contract/document.ts";
import { hiddenIn } from "../../../contract/kinds.ts";
import type { ReceiptView } from "../../../contract/shapes/trust-view-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { type Identity, mayReadHidden } from "../../../core/identity.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { grantText } from "../../../signing/bundle/check-bundle.ts";
import { signText } from "../../../signing/ed25519.ts";
import { parseReceipt } from "../../../signing/receipt-text.ts";
import type { FoundReceipt } from "../../../store/jobs/read-receipt.ts";
import type { ForgottenJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { brokenSeal } from "../access/broken-seal.ts";
import { unknownJob } from "../access/unknown-job.ts";
import { isSignatureKept } from "../receipts/compare-job.ts";
import { findReceipt } from "../receipts/keep-receipts.ts";
import { checkAccess } from "./find-job.ts";

/**
 * The receipt of the last attempt that has one, with everything needed to check it without the hub, even if the job was
 * deleted. The hub signs the document and the grant now; both must still match their seals, or a person with access to
 * the database could have anything signed. Why: ADR 0013.
 */
export async function exportBundle(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; jobId: string },
): Promise<ReceiptView> {
  const job = await findProven(deps, call);
  const { document } = job;
  if (job.receipt === null) throw noReceipt(job);
  const { origin } = call;
  const kept = await findReceipt(deps, job.receipt);
  if (kept === null) {
    // A damaged receipt names a signature that was never there.
    const isDamaged = job.isReceiptDamaged || isSignatureKept(deps, job);
    if (isDamaged) throw await brokenSeal(deps, job, { what: "receipt", origin });
    throw new WritError("NOT_FOUND", `the signature of job ${job.id}'s receipt was deleted`);
  }
  await checkSeals(deps, job, { kept, origin });

  const { attempt, worker_id } = parseReceipt(kept.text);
  const key = deps.keys.signing;
  const isShown = mayReadHidden(call.identity, job) || !hasHidden(document);
  const grant = grantText({
    job_id: job.id,
    attempt,
    worker_id,
    worker_public_key: kept.publicKey,
    document_sha256: job.documentSha256,
  });
  deps.metrics.signatures.inc(isShown ? 2 : 1);
  return {
    job_id: job.id,
    attempt,
    document: isShown ? document : null,
    signature: isShown ? signText(key, document) : null,
    grant,
    grant_signature: signText(key, grant),
    key_id: key.keyId,
    worker: { worker_id, public_key: kept.publicKey },
    receipt: kept.text,
    signed: kept.signed,
    receipt_signature: kept.signature,
    result: job.result,
    result_kept: job.isResultKept,
  };
}

function noReceipt({ id, isEnded: hasEnded }: Proven): WritError {
  return new WritError(
    "NOT_FOUND",
    `job ${id} ${hasEnded ? "has ended without a receipt" : "has no receipt yet"}`,
  );
}

function hasHidden(document: string): boolean {
  return hiddenIn((JSON.parse(document) as JobDocument).run).length > 0;
}

/** The parts of a job, or of a deleted job, that its receipt needs. */
type Proven = Omit<ForgottenJob, "receipt"> & {
  receipt: string | null;
  result: string | null;
  isResultKept: boolean;
  isEnded: boolean;
  isReceiptDamaged: boolean;
  createdAt: number;
};

async function findProven(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; jobId: string },
): Promise<Proven> {
  const { jobId } = call;
  const stored = await deps.store.getJob({ jobId, tenantId: call.identity.tenantId, isCompared: true });
  const found = stored?.job ?? (await deps.store.getForgottenJob({ jobId }));
  if (found === null) throw await unknownJob(deps, call);
  await checkAccess(deps, { ...call, to: "read" }, found);
  if (stored === null) {
    const forgotten = found as ForgottenJob;
    const gone = { result: null, isResultKept: false, isEnded: true, createdAt: 0 };
    return { ...forgotten, ...gone, isReceiptDamaged: !forgotten.isSealed };
  }
  const { job, document } = stored;
  return {
    ...job,
    document,
    result: job.result ?? job.partialResult,
    isResultKept: true,
    isEnded: isEnded(job.status),
    isSealed: !stored.damaged.includes("document"),
    isReceiptDamaged: stored.damaged.includes("receipt"),
  };
}

async function checkSeals(
  deps: HubDeps,
  job: Proven,
  { kept, origin }: { kept: FoundReceipt; origin: Origin },
): Promise<void> {
  const isReceiptSealed = kept.isSealed && parseReceipt(kept.text).job_id === job.id;
  if (isReceiptSealed && job.isSealed) return;
  throw await brokenSeal(deps, job, { what: isReceiptSealed ? "document" : "receipt", origin });
}
