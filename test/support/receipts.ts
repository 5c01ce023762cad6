import type { JsonValue } from "../../src/core/json-value.ts";
import { canonicalize } from "../../src/signing/canonical.ts";
import { generateSigningKey, type SigningKey, signText } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { emptySha256, receiptListText } from "../../src/signing/receipt.ts";
import { type Receipt, receiptText } from "../../src/signing/receipt-text.ts";
import type { TestHub } from "./hub.ts";
import { type HeldJob, registerWorker, runningJob } from "./jobs.ts";

/** A worker whose key the test holds. */
export async function signingWorker(
  hub: TestHub,
  wish: Parameters<typeof registerWorker>[1] = {},
): Promise<{ workerId: string; key: SigningKey }> {
  const key = generateSigningKey().signingKey;
  return { key, workerId: await registerWorker(hub, { ...wish, public_key: key.publicKeyPem }) };
}

/** A running job of such a worker. */
export async function signedRunningJob(hub: TestHub, wish: Parameters<typeof runningJob>[1] = {}) {
  const { workerId, key } = await signingWorker(hub);
  return { ...(await runningJob(hub, { ...wish, workerId })), key };
}

/** A true receipt of an attempt without output, unless the test wishes otherwise. */
export async function receiptFor(
  hub: TestHub,
  held: HeldJob & { key: SigningKey },
  says: Partial<Receipt> & { result?: unknown } = {},
): Promise<{ text: string; signature: string }> {
  const { result, ...fields } = says;
  const text = receiptText({
    job_id: held.id,
    attempt: held.fence.attempt,
    worker_id: held.fence.worker_id,
    document_sha256: await documentHash(hub, held.id),
    exit_code: null,
    result_sha256: result === undefined ? null : sha256Hex(canonicalize(result as JsonValue)),
    stdout_sha256: emptySha256,
    stderr_sha256: emptySha256,
    output_files: [],
    isolation: null,
    usage: null,
    started_at: 1,
    ended_at: 2,
    ...fields,
  });
  return { text, signature: signText(held.key, text) };
}

/** Delivers the result 1 of every attempt in one call, all their receipts under one signature by this key. */
export async function finishTogether(
  hub: TestHub,
  batch: { workerId: string; key: SigningKey; held: HeldJob[] },
): Promise<void> {
  const { workerId, key, held } = batch;
  const receipts = await Promise.all(held.map((one) => receiptFor(hub, { ...one, key }, { result: 1 })));
  const texts = receipts.map(({ text }) => text);
  const items = held.map(({ id, fence: { attempt, token } }, index) => {
    return { job_id: id, attempt, token, result: 1, receipt: texts[index] };
  });
  const signature = signText(key, receiptListText(workerId, texts));
  const body = { worker_id: workerId, items, receipts: { signature } };
  await hub.must("POST", "/jobs/results", { token: hub.admin, body });
}

async function documentHash(hub: TestHub, id: string): Promise<string> {
  const job = await hub.must("GET", `/jobs/${id}`, { token: hub.admin });
  return job.json<{ document_sha256: string }>().document_sha256;
}
