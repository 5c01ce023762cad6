import type { Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { checkReceipts, type ReceiptBatch } from "../use-cases/receipts/check-receipts.ts";

type Deps = Pick<HubDeps, "store" | "outputs" | "refusals" | "logger" | "failures">;

/** If more batches than this are waiting, the caller with the next one waits until it is checked. */
const waitingMax = 1_000;

/**
 * Checks receipts after the worker has been answered. A receipt that does not verify does not change the job; it is
 * recorded as an event with the worker's name. Why: ADR 0013, ADR 0075.
 */
export class ReceiptChecker implements Service {
  readonly name = "receipt checker";
  readonly #deps: Deps;
  #waiting = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves at once unless too many batches are waiting. */
  async add(batch: ReceiptBatch): Promise<void> {
    if (batch.receipts.length === 0) return;
    this.#waiting++;
    this.#tail = this.#tail
      .then(() => this.#check(batch))
      .catch((error: unknown) => this.#deps.failures.error(error, "receipts could not be checked"))
      .finally(() => {
        this.#waiting--;
      });
    if (this.#waiting > waitingMax) await this.#tail;
  }

  /** Resolves when what has arrived before this call is checked, and what was refused of it is recorded. */
  checked(): Promise<void> {
    return this.#tail;
  }

  /** Nothing runs until there are receipts. */
  async start(): Promise<void> {}

  /** Resolves when all waiting batches have been checked. */
  stop(): Promise<void> {
    return this.checked();
  }

  async #check(batch: ReceiptBatch): Promise<void> {
    for (const { workerId, job, reason } of await checkReceipts(this.#deps, batch)) {
      this.#deps.logger.error({ worker: workerId, job_id: job.id, reason }, "a receipt is refused");
      await this.#deps.refusals.record({
        event: "INVALID_SIGNATURE",
        caller: `worker ${workerId}`,
        subject: job.id,
        tenantId: job.tenantId,
        jobId: job.id,
        origin: batch.origin,
        details: {
          violation_type: "RECEIPT",
          evidence_against: workerId,
          job_id: job.id,
          worker_id: workerId,
          attempt: job.attempt,
          error: reason,
        },
      });
    }
  }
}
