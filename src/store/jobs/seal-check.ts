import type { JobRecord } from "../../core/jobs/job.ts";
import { isReceiptSealed, isSealed } from "./job-seal.ts";

type Kept = { document: string | null; mac: Uint8Array | null } & Pick<
  JobRecord,
  "status" | "failCode" | "failDetail"
>;
export type SealedJob = Parameters<typeof isSealed>[1] & Kept;
export type SealedReceipt = Parameters<typeof isReceiptSealed>[1];

export type SealFindings = {
  checked: number;
  /** The first jobs whose seal does not match. */
  broken: string[];
  refused: number;
  /** The first jobs that contradict their timeline or their receipt; none if that was not asked for. */
  contradicted: string[];
};

/** `isCompared` asks for more than seals: each job is compared with its timeline and its receipt. */
export type SealCall = { macKey: Buffer; most: number; isCompared?: boolean };

/**
 * Checks the seals of documents and receipts, one after the other. A job that was already refused because of its seal is
 * only counted: it never runs, and readers see that it is damaged. Why: ADR 0018.
 */
export class SealCheck {
  readonly findings: SealFindings = { checked: 0, broken: [], refused: 0, contradicted: [] };
  readonly #macKey: Buffer;
  readonly #most: number;

  constructor(macKey: Buffer, most: number) {
    this.#macKey = macKey;
    this.#most = most;
  }

  job(row: SealedJob): void {
    const { document, mac } = row;
    const holds = document !== null && mac !== null && isSealed(this.#macKey, row, document, mac);
    if (!holds && isRefused(row)) this.findings.refused++;
    else this.#look(row.id, holds);
  }

  receipt(row: SealedReceipt): void {
    this.#look(row.jobId, isReceiptSealed(this.#macKey, row));
  }

  #look(id: string, holds: boolean): void {
    const { broken } = this.findings;
    this.findings.checked++;
    if (!holds && broken.length < this.#most) broken.push(id);
  }
}

/** It can never be retried. */
export function isRefused({
  status,
  failCode,
  failDetail,
}: Pick<JobRecord, "status" | "failCode" | "failDetail">): boolean {
  return status === "failed" && failCode === "SECURITY_VIOLATION" && failDetail === "INVALID_SIGNATURE";
}
