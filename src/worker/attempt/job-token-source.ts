import { hasCode } from "../../core/errors.ts";
import type { JobTokenSource } from "../../runners/runner.ts";
import { jobTokenLifeMs } from "../../signing/job-token.ts";
import { type HeldJob, loseJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";

type JobTokenDeps = RetryDeps & { calls: Pick<HubCalls, "issueJobToken"> };

/**
 * The job token of one attempt: the one that came with the claim, and later those that the hub issues on request. A
 * token is used for a third of its life, so that it is still valid for a while where it is used. This is measured with
 * this machine's own clock, because the hub's may differ. A hub of 0.1 makes tokens that last as long as the lease.
 * Why: ADR 0092.
 */
export function jobTokenSource(deps: JobTokenDeps, held: HeldJob): JobTokenSource {
  const { clock } = deps;
  const { lease, gone } = held;
  const leaseMs = (lease.expires_at_ts - lease.issued_at_ts) * 1000;
  let current = { token: held.claim.jobToken, sinceMs: clock.monotonicMs() };
  let renewing: Promise<string> | undefined;

  const askHub = async (): Promise<string> => {
    try {
      const sinceMs = clock.monotonicMs();
      const call = (signal: AbortSignal) => deps.calls.issueJobToken(lease, signal);
      const token = await retryWhileAway(deps, gone.signal, call);
      current = { token, sinceMs };
      return token;
    } catch (error) {
      if (hasCode(error, "LEASE_LOST")) loseJob(held, "hub");
      throw error;
    } finally {
      renewing = undefined;
    }
  };
  // Several files may wait for it, and share one call.
  const renew = (): Promise<string> => (renewing ??= askHub());

  return {
    renew,
    async get() {
      const { token, sinceMs } = current;
      if (token === undefined) return renew();
      const useMs = (jobTokenLifeMs(token) ?? leaseMs) / 3;
      return clock.monotonicMs() - sinceMs < useMs ? token : renew();
    },
  };
}
