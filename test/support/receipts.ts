import type { JsonValue } from "../../src/core/text/json-value.ts";
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
  const signature = signText(key, receiptListText(workerId, texts.map(sha256Hex)));
  const body = { worker_id: workerId, items, receipts: { signature } };
  await hub.must("POST", "/jobs/results", { token: hub.admin, body });
}

/** The same as parts: what the item says too is left out of each. */
export function receiptParts(text: string): object {
  const { document_sha256, stdout_sha256, stderr_sha256, started_at, ended_at } = JSON.parse(text) as Receipt;
  return { sha256: sha256Hex(text), document_sha256, stdout_sha256, stderr_sha256, started_at, ended_at };
}

/** Reports items in one call; the hashes of all their receipts are signed together. */
export async function reportItems(
  hub: TestHub,
  { workerId, key }: { workerId: string; key: SigningKey },
  items: { hash: string; item: object }[],
): Promise<{ error?: { code: string; message: string } }[]> {
  const hashes = items.map(({ hash }) => hash);
  const receipts = { signature: signText(key, receiptListText(workerId, hashes)) };
  const body = { worker_id: workerId, items: items.map(({ item }) => item), receipts };
  const answer = await hub.must("POST", "/jobs/results", { token: hub.admin, body });
  return answer.json<{ items: { error?: { code: string; message: string } }[] }>().items;
}

async function documentHash(hub: TestHub, id: string): Promise<string> {
  const job = await hub.must("GET", `/jobs/${id}`, { token: hub.admin });
  return job.json<{ document_sha256: string }>().document_sha256;
}
