import { hasCode } from "../core/errors.ts";
import type { JobTokenSource } from "../runners/runner.ts";
import { type HeldJob, loseJob } from "./held-jobs.ts";
import type { HubCalls } from "./hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "./hub-presence.ts";

type JobTokenDeps = RetryDeps & { calls: Pick<HubCalls, "issueJobToken"> };

/**
 * The job token of one attempt: the one that came with the claim, and later those that the hub issues on request. A
 * token lasts as long as its lease did when it was made, and a heartbeat renews the lease within a third of its time,
 * so a token is used for a third of that and then has another third left. This is measured with this machine's own
 * clock, because the hub's may differ.
 */
export function jobTokenSource(deps: JobTokenDeps, held: HeldJob): JobTokenSource {
  const { clock } = deps;
  const { lease, gone } = held;
  const useMs = ((lease.expires_at_ts - lease.issued_at_ts) * 1000) / 3;
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
  // Many files may be waiting for it; they share one call.
  const renew = (): Promise<string> => (renewing ??= askHub());

  return {
    renew,
    async get() {
      const { token, sinceMs } = current;
      return token !== undefined && clock.monotonicMs() - sinceMs < useMs ? token : renew();
    },
  };
}
