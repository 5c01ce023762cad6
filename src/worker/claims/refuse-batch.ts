import type { z } from "zod";
import type { ClaimedBatch, refusedClaim } from "../../contract/shapes/worker-shapes.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { HubCalls, ReceivedBatch } from "../hub/hub-calls.ts";
import { type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";
import type { ReceivedLease } from "../hub/read-leased-batch.ts";
import { hasOneLease, type Refusal, readableLease, readableLeases } from "./verify-claims.ts";

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
export async function refuseBatch(deps: RefuseDeps, batch: ReceivedBatch, refusal: Refusal): Promise<void> {
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
function reportOf(received: ReceivedBatch, { detail, reason }: Refusal): Report {
  const { jobs, batch } = received;
  const named = hasOneLease(received) ? attemptsOf(received) : received.jobs.flatMap(attemptOf);
  return {
    detail,
    reason: cut(reason, 500),
    jobs: named,
    unreadable: jobs.length - named.length,
    key_id: cut(batch.key_id, 100),
    signature: cut(batch.signature, 200),
  };
}

function attemptOf({ document, lease: text }: ClaimedBatch["jobs"][number]): Report["jobs"] {
  const lease = readableLease(text);
  if (lease === null) return [];
  const { job_id, attempt, token } = lease;
  return [{ job_id, attempt, token, document_sha256: sha256Hex(document), lease_sha256: sha256Hex(text) }];
}

/** They have one lease together, which only its signature could tell from another. */
function attemptsOf(received: ReceivedLease): Report["jobs"] {
  return readableLeases(received, "").map(({ job_id, attempt, token, document_sha256 }) => {
    return { job_id, attempt, token, document_sha256 };
  });
}

/** These texts may have been altered on the way. */
function cut(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed();
}
