import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { WorkerFacts } from "../../../core/jobs/queue-key.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { isPaused } from "../../../store/queues/claim-pause.ts";
import type { ClaimedJob } from "../../../store/store.ts";
import { isReplaced, type WorkerRecord } from "../../../store/worker-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { ParkedClaim } from "../../services/parked-claim.ts";
import { traceWaits } from "../../services/trace-jobs.ts";
import { admitWaitingClaim } from "../access/admit-stream.ts";
import { checkWorkerRate } from "../access/check-rate.ts";
import { findActingWorker, replacedWorker } from "./find-worker.ts";

type ClaimRequest = {
  identity: Identity;
  origin: Origin;
  workerId: string;
  types?: string[];
  session?: string;
  /** The worker's process, which the leases are bound to. */
  bootId?: string;
  max: number;
  waitMs: number;
  /** Aborted when the caller has hung up, so that no job is leased to a claim that has gone. */
  signal: AbortSignal;
};

/** With the keys that the worker registered, and the secret of the claim, from which all its tokens follow. */
type Claiming = ClaimRequest & { keyIds: readonly string[]; leaseSecret: string };

/** The jobs that a claim was given; the store keeps only the hashes of their tokens. */
export type LeasedJobs = {
  jobs: ClaimedJob[];
  secret: string;
  claimant: { documentFormat: number; bootId: string | undefined };
  /** The worker reads the plain fields of a job. */
  isSimpleWorker: boolean;
};

const claimsPerSecondMax = 2_000;
/** Below the 8 MiB of a response, with room for the leases and for escaping. */
const claimBytesMax = 3 * 1024 ** 2;

/**
 * Leases the best jobs for a worker, and waits for some if requested. Empty if there are none, if the worker drains, or
 * if the caller has hung up. Why: ADR 0063, ADR 0100.
 */
export async function claimJobs(deps: HubDeps, request: ClaimRequest): Promise<LeasedJobs> {
  const worker = await findClaimant(deps, request);
  await checkWorkerRate(deps, request, {
    limit: "claims",
    perSecond: claimsPerSecondMax,
    refusal: `a worker may claim ${claimsPerSecondMax} times a second`,
  });
  const secret = deps.ids.secret();
  const { documentFormat, isSimple: isSimpleWorker = false } = worker.facts;
  const leased = { secret, claimant: { documentFormat, bootId: request.bootId }, isSimpleWorker };
  if (worker.draining || isPaused(worker, deps.clock.nowMs())) return { ...leased, jobs: [] };
  const claiming = { ...request, keyIds: worker.keyIds, leaseSecret: secret };
  const onEnd = request.waitMs > 0 ? await admitWaitingClaim(deps, request) : () => {};
  const parked = new ParkedClaim(claimFacts(worker, request), request.max);
  deps.dispatcher.park(worker.id, parked);
  let room = 0;
  try {
    const claimed = await claimOrWait(deps, claiming, parked);
    room = request.max - claimed.length;
    if (worker.status === "inactive") await deps.signsOfLife.activate(worker);
    return { ...leased, jobs: claimed };
  } finally {
    deps.dispatcher.unpark(worker.id, parked, room);
    onEnd();
  }
}

async function findClaimant(deps: HubDeps, request: ClaimRequest): Promise<WorkerRecord> {
  const worker = await findActingWorker(deps, request);
  if (isReplaced(worker, request.bootId)) throw replacedWorker(worker.id);
  return worker;
}

/** The fields of a claim apply to that claim; the rest is as registered. */
function claimFacts(worker: WorkerRecord, request: ClaimRequest): WorkerFacts {
  // The process does not matter for jobs, so the store does not receive it with every claim.
  const { bootId: _, ...facts } = worker.facts;
  // To a simple worker an empty list is the same as none; to others it means no types.
  const types = facts.isSimple && request.types?.length === 0 ? undefined : request.types;
  return {
    ...facts,
    tenantId: request.identity.tenantId,
    types: types ?? facts.types,
    handlerTypes: types === undefined ? facts.handlerTypes : [],
    sessions: request.session === undefined ? facts.sessions : [request.session],
  };
}

/**
 * Looks for jobs, and waits if requested. While it waits, the store may lease jobs to it in the transaction that
 * accepts them; any other reason to look again wakes it.
 */
async function claimOrWait(deps: HubDeps, request: Claiming, parked: ParkedClaim): Promise<ClaimedJob[]> {
  let claimed: ClaimedJob[] = [];
  try {
    claimed = await lookUntilFound(deps, request, parked);
  } catch (error) {
    await giveBack(
      deps,
      request,
      await leave(deps, request, parked),
      "the claim was refused in the same moment",
    );
    throw error;
  }
  // The store parks only a claim that found nothing, and reports a hand-over before it answers the next look.
  const given = claimed.length === 0 ? await leave(deps, request, parked) : parked.takeGiven();
  const fitting = howManyFit(request, claimed, given);
  await giveBack(deps, request, given.slice(fitting), "the worker was given others in the same moment");
  return [...claimed, ...(await keep(deps, request, given.slice(0, fitting)))];
}

/** A claim may be given jobs before and after a look. One answer has at most `max` jobs; its first always fits. */
function howManyFit({ max }: Claiming, claimed: ClaimedJob[], given: ClaimedJob[]): number {
  let bytes = claimed.reduce((sum, { document }) => sum + document.length, 0);
  let count = 0;
  for (const { document } of given) {
    const place = claimed.length + count;
    bytes += document.length;
    if (place >= max || (place > 0 && bytes > claimBytesMax)) break;
    count++;
  }
  return count;
}

/** After this no job is leased to the claim; returns the jobs that were leased to it until now. */
async function leave(deps: HubDeps, { waitMs }: Claiming, parked: ParkedClaim): Promise<ClaimedJob[]> {
  // The store reports a hand-over before it answers this. If it fails, a lease that the claim did not see expires.
  if (waitMs > 0) await deps.store.unparkClaim({ claimId: parked.id }).catch(() => {});
  return parked.takeGiven();
}

async function lookUntilFound(deps: HubDeps, request: Claiming, parked: ParkedClaim): Promise<ClaimedJob[]> {
  const { clock, dispatcher } = deps;
  const { signal, waitMs } = request;
  const endsAtMs = clock.monotonicMs() + waitMs;
  for (;;) {
    parked.beginLook();
    const claimed = await claimNow(deps, request, parked);
    const leftMs = endsAtMs - clock.monotonicMs();
    const isOver = leftMs <= 0 || signal.aborted || dispatcher.isStopped || parked.isRecalled;
    // Jobs that it was given meanwhile are returned when it leaves the store, where this look has parked it again.
    if (claimed.length > 0 || isOver || parked.hasGiven) return claimed;
    await parked.wait({ signal, timeout: { clock, ms: leftMs } });
    const given = parked.takeGiven();
    if (given.length > 0) return keep(deps, request, given);
    // It may have been blocked or drained while it waited, or have refused another claim.
    if (parked.isRecalled) return [];
    const worker = await findClaimant(deps, request);
    if (worker.draining || isPaused(worker, clock.nowMs())) return [];
  }
}

async function claimNow(deps: HubDeps, request: Claiming, parked: ParkedClaim): Promise<ClaimedJob[]> {
  if (request.signal.aborted) return [];
  const signer = deps.keys.signerFor(request.keyIds, deps.clock.nowMs());
  // Without a key that it trusts, the worker could only refuse the jobs.
  if (signer === null) {
    deps.dispatcher.tell(request.workerId, "keys", { version: deps.keys.version });
    return [];
  }
  await deps.failpoint("claim.beforeCommit");
  const { claimed } = await deps.store.claimJobs({
    workerId: request.workerId,
    worker: parked.facts,
    max: request.max,
    bytesMax: claimBytesMax,
    leaseKeyId: signer.keyId,
    leaseSecret: request.leaseSecret,
    parkAs: request.waitMs > 0 ? parked.id : undefined,
    rules: rulesNow(deps),
    origin: request.origin,
  });
  await deps.failpoint("claim.afterCommit");
  return keep(deps, request, claimed);
}

/** The leased jobs; none if the caller has hung up, or if the key to sign them was revoked. */
async function keep(deps: HubDeps, request: Claiming, claimed: ClaimedJob[]): Promise<ClaimedJob[]> {
  deps.metrics.claimed.inc(claimed.length);
  for (const { job } of claimed) deps.metrics.jobTimes.claimed(job);
  traceWaits(deps, claimed);
  if (request.signal.aborted)
    await giveBack(deps, request, claimed, "the worker hung up before it was answered");
  else if (!maySign(deps, claimed))
    await giveBack(deps, request, claimed, "the key was revoked at the same moment");
  else return claimed;
  return [];
}

function maySign(deps: HubDeps, claimed: ClaimedJob[]): boolean {
  const signers = deps.keys.signers(deps.clock.nowMs());
  return claimed.every(({ job }) => signers.some(({ keyId }) => keyId === job.leaseKeyId));
}

/** Gives jobs back at once, because their leases will not be used. */
async function giveBack(
  deps: HubDeps,
  { origin }: Claiming,
  claimed: ClaimedJob[],
  reason: string,
): Promise<void> {
  const changes = claimed.map(({ job, leaseToken }) => {
    const fence = { workerId: job.workerId!, attempt: job.attempt, tokenHash: sha256Hex(leaseToken) };
    return { jobId: job.id, change: { act: "release" as const, fence, reason } };
  });
  if (changes.length > 0) await deps.store.changeJobs({ changes, rules: rulesNow(deps), origin });
}
