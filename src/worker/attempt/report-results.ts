import { hasCode, isRetryableCode, WritError } from "../../core/errors.ts";
import type { HubCalls, ResultAnswer } from "../hub/hub-calls.ts";
import { hubPauseMs, mayComeBack, type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

/** The result of a report. */
export type Reported =
  | { kind: "kept" }
  /** Another attempt has started, or the job has ended, in the meantime. */
  | { kind: "lost" }
  | { kind: "refused"; code: string; message: string; details?: Record<string, unknown> };

type Waiting = {
  text: string;
  receiptSha256: string | undefined;
  bytes: number;
  signal: AbortSignal;
  settle(reported: Reported): void;
};

type ReporterDeps = RetryDeps & {
  calls: Pick<HubCalls, "finishJobs">;
  /** One signature over the hashes of all receipts of a call. */
  signReceipts?(hashes: string[]): string;
};

const itemsMax = 256;
/** Below the hub's 8 MiB, with room for the frame around the items. */
const bodyBytesMax = 7 * 1024 ** 2;

/**
 * Reports how attempts have ended. Only one call is in progress; attempts that end meanwhile are reported with the next
 * one, so that a busy worker needs few calls and an idle one does not wait. How many can wait is bounded by how many
 * jobs a worker holds.
 */
export class ResultReporter {
  readonly #deps: ReporterDeps;
  readonly #signal: AbortSignal;
  #waiting: Waiting[] = [];
  #isSending = false;
  /** Responses in a row that asked to try some item again. */
  #refusals = 0;

  /** When the signal is aborted, all waiting items are given up as lost. */
  constructor(deps: ReporterDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#giveUp(this.#waiting.splice(0)), { once: true });
  }

  /**
   * `text` is the item as JSON, including its receipt if there is one, whose hash is signed. Resolves when the hub has
   * answered for it; the item's own signal gives it up as lost.
   */
  report(text: string, signal: AbortSignal, receiptSha256?: string): Promise<Reported> {
    if (signal.aborted || this.#signal.aborted) return Promise.resolve({ kind: "lost" });
    return new Promise((settle) => {
      this.#waiting.push({ text, receiptSha256, bytes: Buffer.byteLength(text), signal, settle });
      if (this.#isSending) return;
      this.#isSending = true;
      // Attempts that end in the same turn of the event loop share the call.
      setImmediate(() => void this.#sendAll());
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#sendBatch(batch);
    }
    this.#isSending = false;
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const item of this.#waiting.slice(0, itemsMax)) {
      if (count > 0 && bytes + item.bytes > bodyBytesMax) break;
      bytes += item.bytes + 1;
      count++;
    }
    const taken = this.#waiting.splice(0, count);
    const gone = taken.filter((item) => item.signal.aborted);
    this.#giveUp(gone);
    return taken.filter((item) => !item.signal.aborted);
  }

  async #sendBatch(batch: Waiting[]): Promise<void> {
    const texts = batch.map((item) => item.text);
    const hashes = batch.map((item) => item.receiptSha256).filter((hash) => hash !== undefined);
    const signature = hashes.length === 0 ? undefined : this.#deps.signReceipts?.(hashes);
    try {
      const answers = await retryWhileAway(this.#deps, this.#signal, (signal) =>
        this.#deps.calls.finishJobs(texts, signal, signature),
      );
      await this.#settleAll(batch, answers);
    } catch (error) {
      if (this.#signal.aborted) return this.#giveUp(batch);
      // One item that the hub cannot read makes the whole body invalid; alone, each is judged by itself.
      if (batch.length === 1) return batch[0]!.settle(refusalOf(error));
      for (const item of batch) await this.#sendBatch([item]);
    }
  }

  async #settleAll(batch: Waiting[], answers: ResultAnswer[]): Promise<void> {
    const again: Waiting[] = [];
    for (const [index, item] of batch.entries()) {
      const { error } = answers[index]!;
      if (error === undefined) item.settle({ kind: "kept" });
      else if (error.code === "LEASE_LOST" || error.code === "NOT_FOUND") item.settle({ kind: "lost" });
      else if (isRetryableCode(error.code)) again.push(item);
      else item.settle({ kind: "refused", ...error });
    }
    if (again.length === 0) {
      this.#refusals = 0;
      return;
    }
    this.#waiting.unshift(...again);
    const { clock, random } = this.#deps;
    // The hub is there but its store is not, so the next call waits. A stop ends the pause.
    await clock.sleep(hubPauseMs(this.#refusals++, random), this.#signal).catch(() => {});
  }

  #giveUp(items: Waiting[]): void {
    for (const item of items) item.settle({ kind: "lost" });
  }
}

function refusalOf(error: unknown): Reported {
  if (hasCode(error, "LEASE_LOST")) return { kind: "lost" };
  if (error instanceof WritError && !mayComeBack(error)) {
    return { kind: "refused", code: error.code, message: error.message };
  }
  return {
    kind: "refused",
    code: "INTERNAL",
    message: error instanceof Error ? error.message : String(error),
  };
}
