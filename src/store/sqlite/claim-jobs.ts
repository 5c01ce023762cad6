import type { JobRecord } from "../../core/job.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { briefOf } from "../job-brief.ts";
import { isSealed } from "../job-seal.ts";
import type { ClaimInput, ClaimOutcome } from "../store.ts";
import { type Candidate, Candidates } from "./claim-candidates.ts";
import type { Context } from "./context.ts";
import { jobColumns, jobWidth, type Row, readJob } from "./job-row.ts";
import { refuseInLockdown } from "./lockdown-acts.ts";
import { promoteDue } from "./promote-jobs.ts";
import type { Queue, Tenant } from "./queue-book.ts";
import { writeJob } from "./write-job.ts";

/** One claim promotes, and refuses, no more than this, so that a claim never takes long. */
const promotedMax = 1_000;
const refusedMax = 100;

type Claim = ClaimOutcome & { context: Context; input: ClaimInput; bytes: number };

/** Tenants take turns job by job, the one served longest ago first. */
export function claimJobs(context: Context, input: ClaimInput): ClaimOutcome {
  refuseInLockdown(context);
  promoteDue(context, input.rules.nowMs, promotedMax);
  const claim: Claim = { context, input, claimed: [], refused: [], bytes: 0 };
  const line = lineOfTenants(context, input);
  while (line.length > 0 && wantsMore(claim)) {
    const place = line.shift()!;
    const outcome = mayRunMore(context, place.tenant) ? takeBest(claim, place.candidates) : "none";
    if (outcome === "full") break;
    if (outcome === "none") continue;
    context.book.served(place.tenant, context.tallies.add("turn", 1));
    line.push(place);
  }
  return { claimed: claim.claimed, refused: claim.refused };
}

type Place = { tenant: Tenant; candidates: Candidates };

function lineOfTenants(context: Context, input: ClaimInput): Place[] {
  const queues = new Map<Tenant, Queue[]>();
  for (const queue of context.book.matching(input.worker)) {
    if (queue.pending === 0 || context.book.isPaused(queue.facts.type)) continue;
    const ofTenant = queues.get(queue.tenant);
    if (ofTenant === undefined) queues.set(queue.tenant, [queue]);
    else ofTenant.push(queue);
  }
  return [...queues]
    .map(([tenant, list]) => ({ tenant, candidates: new Candidates(context, list, input.max) }))
    .sort((a, b) => a.tenant.turn - b.tenant.turn);
}

function wantsMore({ claimed, refused, input }: Claim): boolean {
  return claimed.length < Math.min(input.max, input.leaseTokens.length) && refused.length < refusedMax;
}

function mayRunMore(context: Context, tenant: Tenant): boolean {
  const limit = context.book.quota(tenant.id).max_running;
  return limit === undefined || tenant.active < limit;
}

/** Leases the tenant's best job; `none` when it has no more, `full` when the next would make the answer too large. */
function takeBest(claim: Claim, candidates: Candidates): "taken" | "none" | "full" {
  while (claim.refused.length < refusedMax) {
    const candidate = candidates.peek();
    if (candidate === null) return "none";
    const stored = loadStored(claim.context, candidate);
    if (stored === null) throw new Error(`the index names job ${candidate.seq}, which is not there`);
    if (!isGenuine(claim.context, stored)) {
      candidates.take();
      refuse(claim, stored.job);
      continue;
    }
    const bytes = Buffer.byteLength(stored.document);
    if (claim.claimed.length > 0 && claim.bytes + bytes > claim.input.bytesMax) return "full";
    candidates.take();
    if (lease(claim, stored.job, stored.document)) {
      claim.bytes += bytes;
      return "taken";
    }
  }
  return "none";
}

type Stored = { job: JobRecord; document: string; mac: Uint8Array | null };

const storedText = `SELECT ${jobColumns}, document, mac
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq WHERE jobs.seq = ?`;

function loadStored(context: Context, candidate: Candidate): Stored | null {
  const row = context.sql.rowStatement(storedText).get(candidate.seq) as Row | undefined;
  if (row === undefined) return null;
  return {
    job: readJob(context, row),
    document: (row[jobWidth] as string | null) ?? "",
    mac: row[jobWidth + 1] as Uint8Array | null,
  };
}

function isGenuine(context: Context, { job, document, mac }: Stored): boolean {
  return mac !== null && isSealed(context.macKey, job, document, mac);
}

function refuse(claim: Claim, job: JobRecord): void {
  writeJob(claim.context, job, { act: "refuse" }, { rules: claim.input.rules, origin: null });
  claim.refused.push(job.id);
}

function lease(claim: Claim, job: JobRecord, document: string): boolean {
  const { context, input } = claim;
  const leaseToken = input.leaseTokens[claim.claimed.length]!;
  const { workerId, leaseKeyId: keyId = null } = input;
  const change = { act: "claim", workerId, keyId, tokenHash: sha256Hex(leaseToken) } as const;
  const answer = writeJob(context, job, change, { rules: input.rules, origin: null });
  if (answer.kind !== "moved") {
    // Ready but not due: the clock was set back since. It waits again, and the next candidate is tried.
    context.sql.run("UPDATE jobs SET ready = 0 WHERE seq = ?", job.seq);
    return false;
  }
  claim.claimed.push({ job: briefOf(answer.job), document, leaseToken });
  return true;
}
