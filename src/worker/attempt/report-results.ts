import { hasCode, isRetryableCode, WritError } from "../../core/errors.ts";
import type { LeaseRun } from "../../signing/receipt.ts";
import type { HubCalls, Reports, ResultAnswer } from "../hub/hub-calls.ts";
import { hubPauseMs, mayComeBack, type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

/** The result of a report. */
export type Reported =
  | { kind: "kept" }
  /** Another attempt has started, or the job has ended, in the meantime. */
  | { kind: "lost" }
  | { kind: "refused"; code: string; message: string; details?: Record<string, unknown> };

/** An outcome as JSON text: an item, or the row of a function. */
export type Report = {
  text: string;
  isRow?: boolean;
  /** Of its receipt, if it has one, and of what the hub signed for its claim. */
  receipt?: { sha256: string; leaseSha256: string };
};

type Waiting = Report & {
  bytes: number;
  signal: AbortSignal;
  settle(reported: Reported): void;
};

type ReporterDeps = RetryDeps & {
  calls: Pick<HubCalls, "finishJobs" | "accepts">;
  /** One signature over the hashes of all receipts of a call, and over the leases, if the hub accepts their names. */
  signReceipts?(hashes: string[], leases: LeaseRun[] | undefined): string;
};

const itemsMax = 256;
/** Below the hub's 8 MiB, with room for the frame around the items. */
const bodyBytesMax = 7 * 1024 ** 2;

/**
 * Reports how attempts have ended. Only one call is in progress; attempts that end meanwhile are reported with the next
 * one, so that a busy worker needs few calls and an idle one does not wait. How many can wait is bounded by how many
 * jobs a worker holds. Why: ADR 0125.
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

  /** Resolves when the hub has answered for it; the report's own signal gives it up as lost. */
  report(report: Report, signal: AbortSignal): Promise<Reported> {
    if (signal.aborted || this.#signal.aborted) return Promise.resolve({ kind: "lost" });
    return new Promise((settle) => {
      this.#waiting.push({ ...report, bytes: Buffer.byteLength(report.text), signal, settle });
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
    const rows = batch.filter(({ isRow }) => isRow === true);
    const items = batch.filter(({ isRow }) => isRow !== true);
    const reports = {
      ends: rows.map(({ text }) => text),
      items: items.map(({ text }) => text),
      receipts: this.#signed([...rows, ...items]),
    };
    try {
      const { refusedEnds, items: answers } = await retryWhileAway(this.#deps, this.#signal, (signal) =>
        this.#deps.calls.finishJobs(reports, signal),
      );
      const refusals = new Map(refusedEnds.map(({ row, error }) => [row, error]));
      const again = [
        ...rows.filter((row, index) => this.#mustRepeat(row, refusals.get(index))),
        ...items.filter((item, index) => this.#mustRepeat(item, answers[index]!.error)),
      ];
      await this.#repeat(again);
    } catch (error) {
      if (this.#signal.aborted) return this.#giveUp(batch);
      // One item that the hub cannot read makes the whole body invalid; alone, each is judged by itself.
      if (batch.length === 1) return batch[0]!.settle(refusalOf(error));
      for (const item of batch) await this.#sendBatch([item]);
    }
  }

  /** In the order of the reports, which the hub's list has too. */
  #signed(batch: readonly Waiting[]): Reports["receipts"] {
    const receipts = batch.flatMap(({ receipt }) => receipt ?? []);
    const { signReceipts, calls } = this.#deps;
    if (receipts.length === 0 || signReceipts === undefined) return undefined;
    const hashes = receipts.map(({ sha256 }) => sha256);
    const leases = calls.accepts("ends") ? runsOf(receipts.map(({ leaseSha256 }) => leaseSha256)) : undefined;
    return { signature: signReceipts(hashes, leases), ...(leases === undefined ? {} : { leases }) };
  }

  /** Resolves a report that the hub has answered for. True if it asks for the report again. */
  #mustRepeat(report: Waiting, error: ResultAnswer["error"]): boolean {
    if (error === undefined) report.settle({ kind: "kept" });
    else if (error.code === "LEASE_LOST" || error.code === "NOT_FOUND") report.settle({ kind: "lost" });
    else if (isRetryableCode(error.code)) return true;
    else report.settle({ kind: "refused", ...error });
    return false;
  }

  async #repeat(again: Waiting[]): Promise<void> {
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

/** The same hashes that follow each other, with their number. */
function runsOf(hashes: readonly string[]): LeaseRun[] {
  const runs: [string, number][] = [];
  for (const hash of hashes) {
    const last = runs.at(-1);
    if (last?.[0] === hash) last[1]++;
    else runs.push([hash, 1]);
  }
  return runs;
}
