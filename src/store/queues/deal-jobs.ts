import type { Change } from "../../core/jobs/change.ts";
import type { JobRecord } from "../../core/jobs/job.ts";
import { mayRunMore } from "../../core/jobs/quota.ts";
import { tokenOfAttempt } from "../../signing/batch-lease.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { briefOf } from "../jobs/job-brief.ts";
import { isSealed } from "../jobs/job-seal.ts";
import type { ClaimInput, ClaimOutcome } from "../store.ts";
import type { Queue, QueueBook, Tenant } from "./queue-book.ts";
import type { KindOfWorker } from "./waiting-queues.ts";

/** A tenant whose turn has come, with the queues that the worker may claim from. */
export type TenantInLine = { tenant: Tenant; queues: Queue[] };

/** A pending job as it is stored; without a document it has no seal either. */
export type SealedJob = {
  job: JobRecord;
  document: string;
  mac: Uint8Array | null;
  /** It was sealed in this process and has not left its memory since. */
  isFresh?: boolean;
};

/** The claimable jobs of one tenant, best first. `take` moves on to the next one. */
export type TenantJobs = { peek(): SealedJob | null; take(): void };

/** What a driver does for a claim: it reads and writes, and decides nothing. */
type ClaimDriver = {
  book: QueueBook;
  macKey: Buffer;
  /** Whether nothing of this tenant may be leased now. */
  isLocked(tenantId: string): boolean;
  jobsOf(line: TenantInLine): TenantJobs;
  /** Writes one change; null if it was refused. */
  change(job: JobRecord, change: Change): JobRecord | null;
  /** A job that seemed to be claimable is not: the clock was set back, or a lane of it is full. It waits again. */
  delay(job: JobRecord): void;
  /** The number of the next turn, higher than all before. */
  nextTurn(): number;
  /** The tenant has been served in this turn; for a driver that does not write the book with each transaction. */
  served?(tenant: Tenant): void;
};

/** One claim refuses or puts off no more jobs than this, so that it never takes long. */
const refusedMax = 100;

/**
 * Distributes jobs to a worker: tenants take turns job by job, beginning with the one that was served longest ago.
 * Why: ADR 0022.
 */
export function dealJobs(driver: ClaimDriver, input: ClaimInput): ClaimOutcome {
  const { book } = driver;
  const deal: Deal = { driver, input, claimed: [], refused: [], delayed: 0, bytes: 0 };
  const worker = { name: JSON.stringify(input.worker), facts: input.worker };
  const jobsOf = new Map<Tenant, TenantJobs>();
  const line = book.line(input.worker).filter(({ id }) => !driver.isLocked(id));
  for (let tenant = line.shift(); tenant !== undefined && wantsMore(deal); tenant = line.shift()) {
    if (!mayRunMore(tenant.active, book.quota(tenant.id))) continue;
    const jobs = jobsOf.get(tenant) ?? openJobs(driver, tenant, worker);
    const outcome = jobs === null ? "none" : takeBest(deal, jobs);
    if (outcome === "full") break;
    if (outcome === "none") continue;
    jobsOf.set(tenant, jobs!);
    book.served(tenant, driver.nextTurn());
    driver.served?.(tenant);
    line.push(tenant);
  }
  return { claimed: deal.claimed, refused: deal.refused };
}

type Deal = ClaimOutcome & { driver: ClaimDriver; input: ClaimInput; delayed: number; bytes: number };

/** When its turn has come, because the queues of a tenant must cost other tenants nothing. */
function openJobs({ book, jobsOf }: ClaimDriver, tenant: Tenant, worker: KindOfWorker): TenantJobs | null {
  const queues = book.claimable(tenant, worker);
  return queues.length === 0 ? null : jobsOf({ tenant, queues });
}

function wantsMore({ claimed, refused, input }: Deal): boolean {
  return claimed.length < input.max && refused.length < refusedMax;
}

/** Leases the tenant's best job; `none` if there are no more, `full` if the next would make the response too large. */
function takeBest(deal: Deal, jobs: TenantJobs): "taken" | "none" | "full" {
  const { driver, input } = deal;
  while (deal.refused.length < refusedMax && deal.delayed < refusedMax) {
    const best = jobs.peek();
    if (best === null) return "none";
    if (!isGenuine(driver.macKey, best)) {
      jobs.take();
      driver.change(best.job, { act: "refuse" });
      deal.refused.push(best.job.id);
      continue;
    }
    const bytes = Buffer.byteLength(best.document);
    if (deal.claimed.length > 0 && deal.bytes + bytes > input.bytesMax) return "full";
    jobs.take();
    if (lease(deal, best)) {
      deal.bytes += bytes;
      return "taken";
    }
  }
  return "none";
}

function isGenuine(macKey: Buffer, { job, document, mac, isFresh = false }: SealedJob): boolean {
  return isFresh || (mac !== null && isSealed(macKey, job, document, mac));
}

/** False if the job is not due after all, or a lane of it is full: it waits again, and the next one is tried. */
function lease(deal: Deal, { job, document }: SealedJob): boolean {
  const { driver, input, claimed } = deal;
  const leaseToken = tokenOfAttempt(input.leaseSecret, job.id, job.attempt + 1);
  const { workerId, leaseKeyId: keyId = null } = input;
  const leased = driver.change(job, { act: "claim", workerId, keyId, tokenHash: sha256Hex(leaseToken) });
  if (leased === null) {
    driver.delay(job);
    deal.delayed++;
    const queue = driver.book.byKey(job.queueKey);
    if (queue !== undefined) driver.book.notReady(queue, job.seq);
    return false;
  }
  claimed.push({ job: briefOf(leased), document, leaseToken });
  return true;
}
