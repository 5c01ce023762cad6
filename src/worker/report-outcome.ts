import type { RunOutcome } from "../runners/runner.ts";
import type { HeldJob } from "./held-jobs.ts";
import { type AttemptFacts, receiptOf } from "./receipt.ts";
import { type ReleaseDeps, releaseLease } from "./release-lease.ts";
import { reportItem } from "./report-item.ts";
import type { ResultReporter } from "./report-results.ts";

export type OutcomeDeps = ReleaseDeps & {
  reporter: Pick<ResultReporter, "report">;
  /** No process can be caged here at present. */
  onSandboxDown(reason: string): void;
};

/** Tells the hub how an attempt has ended, with a receipt. Comes when the hub has answered, or cannot care any more. */
export async function reportOutcome(
  deps: OutcomeDeps,
  held: HeldJob,
  outcome: RunOutcome,
  facts: AttemptFacts,
): Promise<void> {
  const { lease, gone, claim } = held;
  if (gone.signal.aborted) return;
  if (outcome.kind === "released") {
    if (outcome.isHostDown) deps.onSandboxDown(outcome.reason);
    return releaseLease(deps, lease, outcome.reason, gone.signal);
  }

  const receipt = receiptOf(claim, outcome, facts);
  const reported = await deps.reporter.report(reportItem(lease, outcome, receipt), gone.signal, receipt);
  if (reported.kind !== "refused") return;
  const { code, message } = reported;
  deps.logger.error(
    { job_id: lease.job_id, attempt: lease.attempt, code, message },
    "the hub refused an ending",
  );
  if (outcome.kind === "failed") return;
  const reason = `the hub refused the result: ${code}: ${message}`;
  const failed = { kind: "failed", code: "EXECUTION_ERROR", reason } as const;
  const second = receiptOf(claim, failed, facts);
  await deps.reporter.report(reportItem(lease, failed, second), gone.signal, second);
}
