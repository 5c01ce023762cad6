import { hasCode } from "../../core/errors.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Lease } from "../../signing/lease.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

export type ReleaseDeps = RetryDeps & { calls: Pick<HubCalls, "release">; logger: Logger };

/** Releases an attempt, so that another worker can take it. Never rejects. */
export async function releaseLease(
  deps: ReleaseDeps,
  lease: Lease,
  reason: string,
  signal: AbortSignal,
): Promise<void> {
  const { job_id, attempt } = lease;
  deps.logger.info({ job_id, attempt, reason }, "giving a job back");
  try {
    await retryWhileAway(deps, signal, (callSignal) => deps.calls.release(lease, reason, callSignal));
  } catch (error) {
    if (signal.aborted || hasCode(error, "LEASE_LOST")) return;
    deps.logger.warn({ err: error, job_id, attempt }, "a job could not be given back; its lease will expire");
  }
}
