import type { JobRecord } from "../../core/jobs/job.ts";
import { loadVerifyingKey, verifyText } from "../../signing/ed25519.ts";
import type { ReceiptSignature } from "../store.ts";
import { compareReceipt } from "./compare-receipt.ts";
import { type FoundReceipt, readStoredReceipt, signatureIdIn } from "./read-receipt.ts";

type Compared = Parameters<typeof compareReceipt>[0] & Pick<JobRecord, "receipt" | "createdAt">;

/** What is known of a job beside its row. */
type Evidence = {
  /** Whether its row contradicts its timeline, or its receipt is damaged where it is stored. */
  isContradicted: boolean;
  isReceiptRefused: boolean;
  /** The row with the signature over its receipt; null if there is none. */
  signature: ReceiptSignature | null;
};

/** Compares all jobs of a database with their timelines and receipts, and checks the signatures of these. Why: ADR 0134. */
export class JobComparison {
  /** The first jobs that contradict what is sealed of them. */
  readonly contradicted: string[] = [];
  readonly #macKey: Buffer;
  readonly #most: number;
  /** Younger receipts have their signatures, because retention takes the oldest first. */
  readonly #oldestSignedAt: number;
  /** The refusal of a signature is recorded for one of the jobs that it covers. */
  readonly #refused = new Set<string>();
  readonly #unsigned = new Map<string, string[]>();
  #last = { id: "", isGood: false };

  constructor(macKey: Buffer, { most, oldestSignedAt }: { most: number; oldestSignedAt: number | null }) {
    this.#macKey = macKey;
    this.#most = most;
    this.#oldestSignedAt = oldestSignedAt ?? Number.POSITIVE_INFINITY;
  }

  look(job: Compared, { isContradicted, isReceiptRefused, signature }: Evidence): void {
    if (job.receipt !== null && isReceiptRefused) this.#refused.add(signatureIdIn(job.receipt));
    const isWrong = isContradicted || (!isReceiptRefused && this.#isReceiptWrong(job, signature));
    if (isWrong) this.#add(job.id);
  }

  /** After all jobs: those whose signature does not verify, although no worker was refused for it. */
  finish(): string[] {
    for (const [id, jobIds] of this.#unsigned)
      if (!this.#refused.has(id)) for (const jobId of jobIds) this.#add(jobId);
    return this.contradicted;
  }

  #add(jobId: string): void {
    const { contradicted } = this;
    if (contradicted.length < this.#most && !contradicted.includes(jobId)) contradicted.push(jobId);
  }

  #isReceiptWrong(job: Compared, signature: ReceiptSignature | null): boolean {
    if (job.receipt === null) return false;
    if (signature === null) return job.createdAt >= this.#oldestSignedAt;
    try {
      const receipt = readStoredReceipt(this.#macKey, job.receipt, signature);
      if (!receipt.isSealed || compareReceipt(job, receipt.text).length > 0) return true;
      if (!this.#isSigned(signature.id, receipt)) this.#noteUnsigned(signature.id, job.id);
      return false;
    } catch {
      // What cannot be read is no receipt.
      return true;
    }
  }

  #noteUnsigned(id: string, jobId: string): void {
    const jobIds = this.#unsigned.get(id) ?? [];
    if (jobIds.length < this.#most) this.#unsigned.set(id, [...jobIds, jobId]);
  }

  /** Jobs that ended together have one signature. */
  #isSigned(id: string, { publicKey, signed, signature }: FoundReceipt): boolean {
    if (this.#last.id !== id) this.#last = { id, isGood: isSignedBy(publicKey, signed, signature) };
    return this.#last.isGood;
  }
}

function isSignedBy(publicKey: string | null, signed: string, signature: string): boolean {
  if (publicKey === null) return false;
  try {
    return verifyText(loadVerifyingKey(publicKey), signed, signature);
  } catch {
    // It is not a key.
    return false;
  }
}
