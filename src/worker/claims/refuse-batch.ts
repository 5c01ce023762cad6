import type { z } from "zod";
import type { ClaimedBatch, refusedClaim } from "../../contract/shapes/worker-shapes.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";
import { type Refusal, readableLease } from "./verify-claims.ts";

type RefuseDeps = RetryDeps & {
  calls: Pick<HubCalls, "accepts" | "refuseClaim">;
  logger: Logger;
  quit: AbortSignal;
};

/** By then the hub has usually received the report; it is repeated until the hub answers. */
const waitMs = 2_000;

/**
 * Reports a batch that is not authentic, once and with the received leases, so that the hub can give its jobs to other
 * workers. The worker claims nothing before the hub has the report, but does not wait long for a hub that is away.
 * Never rejects. Why: ADR 0099.
 */
export async function refuseBatch(deps: RefuseDeps, batch: ClaimedBatch, refusal: Refusal): Promise<void> {
  deps.logger.error({ jobs: batch.jobs.length, ...refusal }, "a claim was refused; none of its jobs runs");
  if (!deps.calls.accepts("refused-claims")) {
    deps.logger.warn("the hub is of version 0.1 and takes no report of this; the leases will expire");
    return;
  }
  const report = reportOf(batch, refusal);
  const told = retryWhileAway(deps, deps.quit, (signal) => deps.calls.refuseClaim(report, signal)).then(
    ({ returned, paused_until: until }) =>
      deps.logger.warn(
        { returned },
        `the hub gives this worker no jobs until ${new Date(until).toISOString()}, because it refused a claim`,
      ),
    (error: unknown) => {
      if (!deps.quit.aborted)
        deps.logger.warn({ err: error }, "a refused claim could not be reported; its leases will expire");
    },
  );
  // A stop of the worker ends the wait too.
  await Promise.race([told, deps.clock.sleep(waitMs, deps.quit).catch(() => {})]);
}

type Report = z.input<typeof refusedClaim>;

/** The tokens are in the leases. A lease that cannot be read names no attempt, so it can only be counted. */
function reportOf({ jobs, batch }: ClaimedBatch, { detail, reason }: Refusal): Report {
  const named = jobs.flatMap(({ document, lease: text }): Report["jobs"] => {
    const lease = readableLease(text);
    if (lease === null) return [];
    const { job_id, attempt, token } = lease;
    return [{ job_id, attempt, token, document_sha256: sha256Hex(document), lease_sha256: sha256Hex(text) }];
  });
  return {
    detail,
    reason: cut(reason, 500),
    jobs: named,
    unreadable: jobs.length - named.length,
    key_id: cut(batch.key_id, 100),
    signature: cut(batch.signature, 200),
  };
}

/** These texts may have been altered on the way. */
function cut(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed();
}
