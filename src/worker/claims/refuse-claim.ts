import type { RunFailure } from "../../runners/runner.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Lease } from "../../signing/lease.ts";
import { reportItem } from "../attempt/report-item.ts";
import type { ResultReporter } from "../attempt/report-results.ts";
import { type HeldJobs, heldKey } from "./held-jobs.ts";

/** The dependencies for a refusal, which is reported and ends the attempt. */
type RefuseDeps = { logger: Logger; reporter: Pick<ResultReporter, "report">; quit: AbortSignal };

/**
 * Whether the lease is bound to this process. The lease of an earlier process was delivered to that one, so this is a
 * second delivery.
 */
export function isForThisProcess(deps: RefuseDeps & { bootId: string }, lease: Lease): boolean {
  if (lease.boot_id === undefined || lease.boot_id === deps.bootId) return true;
  refuseClaim(deps, lease, { detail: "REPLAY", reason: "the lease is for another process of this worker" });
  return false;
}

export function refuseReplay(deps: RefuseDeps & { held: Pick<HeldJobs, "get"> }, lease: Lease): false {
  const { job_id, attempt } = lease;
  // This attempt runs here now; a report of failure would fail the running one.
  if (deps.held.get(heldKey(job_id, attempt)) !== undefined) {
    deps.logger.warn(
      { job_id, attempt, detail: "REPLAY" },
      "a claim of a job that is running here was ignored",
    );
    return false;
  }
  refuseClaim(deps, lease, { detail: "REPLAY", reason: "this attempt has already been run here" });
  return false;
}

function refuseClaim(
  deps: RefuseDeps,
  lease: Lease,
  violation: { detail: RunFailure["detail"]; reason: string },
): void {
  const { job_id, attempt } = lease;
  deps.logger.warn({ job_id, attempt, ...violation }, "a claim was refused");
  const text = reportItem(lease, { kind: "failed", code: "SECURITY_VIOLATION", ...violation });
  void deps.reporter.report({ text }, deps.quit);
}
