import { decideEffects, type Effects } from "../../../core/jobs/effects.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import { mayRunMore } from "../../../core/jobs/quota.ts";
import { readinessOf } from "../../../core/readiness/readiness.ts";
import { noteEffects } from "../../jobs/note-effects.ts";
import { NoticeBuilder } from "../../jobs/notice-builder.ts";
import { dealJobs, type SealedJob, type TenantInLine, type TenantJobs } from "../../queues/deal-jobs.ts";
import { isBetter, type Queue } from "../../queues/queue-book.ts";
import type { ClaimInput, ClaimOutcome } from "../../store.ts";
import { type Place, placeOf, readKept, recordColumns, recordWidth } from "../jobs/job-row.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { KeptJob } from "../transaction/work.ts";
import type { Reading } from "./claim-floors.ts";

export type ClaimAnswer = { value: ClaimOutcome } | { error: unknown };

type Candidate = KeptJob & SealedJob;
/** The front of a queue, locked by this transaction. It is full if there may be more. */
type Page = { candidates: Candidate[]; isFull: boolean };
type Pages = { byQueue: Map<number, Page>; bySeq: Map<number, Candidate> };

/** Each round reads at least twice as many jobs of the queues that were too short. */
const roundsMax = 12;
/** What is locked and not taken keeps others from it for a moment. */
const pageMax = 500;

/** The fronts of the queues as they were asked for, and what comes of that. */
type Fronts = { wanted: Map<number, number>; reading: Reading; pages: Promise<Pages> };

/**
 * Sends for the fronts of the queues, as much as the claims will probably need. What is known now decides which; what is
 * known when they are dealt decides the rest.
 */
export function askFronts(tx: Transaction, claims: ClaimInput[]): Fronts {
  const wanted = tx.inBook(() => firstPages(tx, claims));
  const reading = tx.readFronts(Math.max(...claims.map(({ rules }) => rules.nowMs)));
  const pages = readPages(tx, wanted, reading);
  pages.catch(() => {});
  return { wanted, reading, pages };
}

/**
 * Deals jobs to these claims, one claim after the other. Where what was read was not enough, more is read and everything is
 * dealt again. Why: ADR 0080, ADR 0087.
 */
export async function leaseJobs(
  tx: Transaction,
  claims: ClaimInput[],
  { wanted, reading, pages: first }: Fronts,
  onLeased = noOne,
): Promise<ClaimAnswer[]> {
  let pages = await first;
  for (let round = 1; ; round++) {
    for (const [queueId, page] of pages.byQueue) {
      // Too little, and others may have put something before the place where it was begun.
      if (page.isFull || reading.isExact(queueId)) continue;
      reading.walk(queueId);
      page.isFull = true;
    }
    await tx.lanes.lock([...pages.bySeq.values()].map(({ job }) => job));
    const dealt = tx.inBook(() => dealAll(tx, claims, pages));
    if (dealt.short.size === 0 || round === roundsMax) {
      keep(tx, dealt, onLeased);
      return dealt.answers;
    }
    for (const [queueId, least] of dealt.short) {
      wanted.set(queueId, Math.min(pageMax, Math.max(2 * (wanted.get(queueId) ?? 0), least)));
    }
    pages = await readPages(tx, wanted, reading);
  }
}

function noOne(_: JobRecord): void {}

/** How many jobs of which queues to read: the tenants whose turns come, with equal shares. */
function firstPages(tx: Transaction, claims: ClaimInput[]): Map<number, number> {
  const wanted = new Map<number, number>();
  for (const claim of claims) {
    const lines = linesOf(tx, claim);
    const share = Math.ceil(claim.max / Math.max(1, lines.length));
    for (const { id } of lines.flat()) wanted.set(id, Math.min(pageMax, (wanted.get(id) ?? 0) + share));
  }
  return wanted;
}

/** The queues of each tenant in line; no more tenants than jobs are wanted. */
function linesOf({ shared }: Transaction, { worker, max }: ClaimInput): Queue[][] {
  const { book, lockdown, lockedTenants } = shared;
  if (lockdown !== null) return [];
  const locked = new Set(lockedTenants.map(({ tenantId }) => tenantId));
  const kind = { name: JSON.stringify(worker), facts: worker };
  const lines: Queue[][] = [];
  for (const tenant of book.line(worker)) {
    if (lines.length >= max) break;
    if (locked.has(tenant.id) || !mayRunMore(tenant.active, book.quota(tenant.id))) continue;
    const queues = book.claimable(tenant, kind);
    if (queues.length > 0) lines.push(queues);
  }
  return lines;
}

const pagesText = `SELECT ${recordColumns}, j.document, j.mac, s.queue_id AS in_queue
  FROM unnest($1::int[], $2::int[], $3::smallint[], $4::bigint[]) AS t (queue_id, most, floor_rank, floor_seq)
    CROSS JOIN LATERAL (
      SELECT * FROM ready WHERE ready.queue_id = t.queue_id AND (rank, seq) >= (t.floor_rank, t.floor_seq)
        ORDER BY rank, seq LIMIT t.most FOR UPDATE SKIP LOCKED
    ) AS s
    JOIN jobs j ON j.seq = s.seq LEFT JOIN queues q ON q.id = j.queue_id
  ORDER BY s.queue_id, s.rank, s.seq`;

const lowest = { rank: -32_768, seq: 0 };

async function readPages(tx: Transaction, wanted: Map<number, number>, reading: Reading): Promise<Pages> {
  if (wanted.size === 0) return { byQueue: new Map(), bySeq: new Map() };
  const floors = new Map([...wanted.keys()].map((id) => [id, reading.beginAt(id) ?? lowest]));
  const rows = await tx.sql.rows(
    pagesText,
    [...wanted.keys()],
    [...wanted.values()],
    Array.from(floors.values(), ({ rank }) => rank),
    Array.from(floors.values(), ({ seq }) => seq),
  );
  const byQueue = new Map<number, Page>();
  const bySeq = new Map<number, Candidate>();
  for (const queueId of wanted.keys()) byQueue.set(queueId, { candidates: [], isFull: false });
  for (const row of rows) {
    const { job, place, queueId, dueAt } = readKept(row, "ready");
    const [document, mac, inQueue] = row.slice(recordWidth) as [string | null, Buffer | null, number];
    const candidate = { job, place, queueId, dueAt, document: document ?? "", mac };
    bySeq.set(job.seq, candidate);
    byQueue.get(inQueue)!.candidates.push(candidate);
  }
  for (const [queueId, page] of byQueue) {
    page.isFull = page.candidates.length >= wanted.get(queueId)!;
    reading.found(
      queueId,
      page.candidates.map(({ job }) => ({ rank: -job.priority, seq: job.seq })),
    );
  }
  return { byQueue, bySeq };
}

type Dealt = {
  answers: ClaimAnswer[];
  changes: { kept: KeptJob; effects: Effects; isLease: boolean }[];
  delayed: { kept: KeptJob; place: Place; nowMs: number }[];
  /** Queues of which more has to be read, and how much at least. */
  short: Map<number, number>;
};

function dealAll(tx: Transaction, claims: ClaimInput[], pages: Pages): Dealt {
  const dealt: Dealt = { answers: [], changes: [], delayed: [], short: new Map() };
  const mayStart = tx.lanes.deal();
  const taken = new Set<number>();
  // What this transaction has taken before is still in its place, as far as the database knows.
  for (const { job, place } of tx.work.jobs.values()) if (place !== "ready") taken.add(job.seq);
  for (const claim of claims) {
    try {
      dealt.answers.push({ value: deal(tx, claim, { dealt, pages, taken, mayStart }) });
    } catch (error) {
      dealt.answers.push({ error });
    }
  }
  return dealt;
}

type Table = {
  dealt: Dealt;
  pages: Pages;
  taken: Set<number>;
  /** Whether the lanes of a job have places for it. */
  mayStart(job: JobRecord, nowMs: number): boolean;
};

function deal(
  { shared, context }: Transaction,
  claim: ClaimInput,
  { dealt, pages, taken, mayStart }: Table,
): ClaimOutcome {
  const { book } = shared;
  const locked = shared.refuseInLockdown(claim.worker.tenantId);
  const how = { rules: claim.rules, origin: claim.origin ?? null };
  const notice = new NoticeBuilder();
  return dealJobs(
    {
      book,
      macKey: context.macKey,
      isLocked: (tenantId) => locked.has(tenantId),
      jobsOf: (line) => tenantJobs(line, { pages, taken, short: dealt.short, max: claim.max }),
      change: (job, change) => {
        const kept = pages.bySeq.get(job.seq)!;
        if (change.act === "claim" && !mayStart(job, claim.rules.nowMs)) return null;
        const outcome = decideEffects(job, change, how);
        if (outcome.kind !== "moved") return null;
        noteEffects({ book, notice }, outcome.effects);
        dealt.changes.push({ kept, effects: outcome.effects, isLease: change.act === "claim" });
        return outcome.effects.after;
      },
      delay: (job) => {
        const place = placeOf(job, readinessOf(job, claim.rules.nowMs));
        dealt.delayed.push({ kept: pages.bySeq.get(job.seq)!, place, nowMs: claim.rules.nowMs });
      },
      nextTurn: () => shared.nextTurn(),
    },
    claim,
  );
}

type Hand = { pages: Pages; taken: Set<number>; short: Map<number, number>; max: number };

/** The jobs of one tenant's queues that were read and not taken, best first. */
function tenantJobs({ queues }: TenantInLine, { pages, taken, short, max }: Hand): TenantJobs {
  const next = new Map<Queue, number>(queues.map((queue) => [queue, 0]));
  const frontOf = (queue: Queue): Candidate | null => {
    const page = pages.byQueue.get(queue.id);
    const candidates = page?.candidates ?? [];
    let index = next.get(queue)!;
    while (index < candidates.length && taken.has(candidates[index]!.job.seq)) index++;
    next.set(queue, index);
    if (index === candidates.length && (page === undefined || page.isFull))
      short.set(queue.id, Math.max(short.get(queue.id) ?? 0, Math.ceil(max / queues.length)));
    return candidates[index] ?? null;
  };
  const best = (): Candidate | null => {
    let found: Candidate | null = null;
    for (const queue of queues) {
      const front = frontOf(queue);
      if (front !== null && (found === null || isBetter(front.job, found.job))) found = front;
    }
    return found;
  };
  let peeked: Candidate | null | undefined;
  return {
    peek: () => {
      peeked ??= best();
      return peeked;
    },
    take: () => {
      if (peeked != null) taken.add(peeked.job.seq);
      peeked = undefined;
    },
  };
}

/** The deal holds: what it changes becomes part of the transaction. */
function keep(tx: Transaction, { changes, delayed }: Dealt, onLeased: (job: JobRecord) => void): void {
  const { work, shared } = tx;
  tx.inBook(() => {
    for (const { kept, effects, isLease } of changes) {
      const now = tx.apply(kept, effects, kept.queueId);
      tx.lanes.note(kept, now, {
        nowMs: effects.after.claimedAt ?? 0,
        lingersUntil: null,
        isAnnounced: false,
      });
      if (!isLease) continue;
      onLeased(effects.after);
      const { tenantId } = effects.after;
      work.turns.set(tenantId, shared.nextTurn());
      const { max_running } = shared.book.quota(tenantId);
      if (max_running !== undefined && !tx.isExact) work.limit(tenantId, { active: max_running });
    }
  });
  for (const { kept, place, nowMs } of delayed) {
    const now = work.put(kept, { ...kept, place });
    tx.lanes.note(kept, now, { nowMs, lingersUntil: null, isAnnounced: false });
  }
}
