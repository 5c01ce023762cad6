import type { JobRecord } from "../../../core/jobs/job.ts";
import { getLockdown, listLockedTenants } from "../../acts/lockdown-acts.ts";
import { Candidates, promotedMax, type ReadPage } from "../../queues/claim-candidates.ts";
import { dealJobs, type SealedJob, type TenantInLine, type TenantJobs } from "../../queues/deal-jobs.ts";
import type { Candidate } from "../../queues/queue-book.ts";
import { refuseInLockdown } from "../../response-store.ts";
import type { ClaimInput, ClaimOutcome } from "../../store.ts";
import { driveAct } from "../acts/drive-act.ts";
import type { Context } from "../context.ts";
import { isDamage } from "../database/sqlite-error.ts";
import { jobColumns, jobWidth, type Row, readJob } from "../jobs/job-row.ts";
import { writeJob } from "../jobs/write-job.ts";
import { promoteDue } from "./promote-jobs.ts";

/**
 * Leases the best jobs that fit the worker. A claim that may wait, and finds none, is parked. Why: ADR 0022, ADR 0064.
 */
export function claimJobs(context: Context, input: ClaimInput): ClaimOutcome {
  const { parkAs } = input;
  if (parkAs !== undefined) context.parked.leave(parkAs);
  const outcome = leaseJobs(context, input);
  if (parkAs !== undefined && outcome.claimed.length === 0) context.parked.park(parkAs, input);
  return outcome;
}

export function leaseJobs(
  context: Context,
  input: ClaimInput,
  onLeased: (job: JobRecord) => void = () => {},
): ClaimOutcome {
  const { sql, book, tallies, macKey } = context;
  const { rules, max, origin = null } = input;
  const locked = refuseInLockdown(input.worker.tenantId, {
    lockdown: driveAct(sql, getLockdown()),
    tenants: driveAct(sql, listLockedTenants()),
  });
  promoteDue(context, rules.nowMs, promotedMax);
  return dealJobs(
    {
      book,
      macKey,
      isLocked: (tenantId) => locked.has(tenantId),
      jobsOf: (place) => tenantJobs(context, place, max),
      change: (job, change) => {
        const answer = writeJob(context, job, change, { rules, origin });
        if (answer.kind !== "moved") return null;
        if (change.act === "claim") onLeased(answer.job);
        return answer.job;
      },
      delay: ({ seq }) => {
        context.fresh.forget(seq);
        sql.run("UPDATE jobs SET ready = 0 WHERE seq = ? AND ready = 1", seq);
      },
      nextTurn: () => tallies.add("turn", 1),
    },
    input,
  );
}

/** The numbers are read in pages from the index; a record and its document are read when it is their turn. */
function tenantJobs(context: Context, { queues }: TenantInLine, max: number): TenantJobs {
  const { sql, unreadable } = context;
  const readPage: ReadPage = (queue, limit) => {
    const page = sql.all<Candidate>(
      "SELECT seq, priority FROM jobs WHERE queue_id = ? AND ready = 1 ORDER BY priority DESC, seq LIMIT ?",
      queue.id,
      limit + unreadable.size,
    );
    return unreadable.size === 0 ? page : page.filter(({ seq }) => !unreadable.has(seq)).slice(0, limit);
  };
  const candidates = new Candidates(context.book, queues, { wanted: max, readPage });
  return {
    peek: () => {
      for (let candidate = candidates.peek(); candidate !== null; candidate = candidates.peek()) {
        const sealed = context.fresh.get(candidate.seq) ?? loadSealed(context, candidate);
        if (sealed !== null) return sealed;
        unreadable.add(candidate.seq);
        candidates.take();
      }
      return null;
    },
    take: () => candidates.take(),
  };
}

const sealedText = `SELECT ${jobColumns}, document, mac
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq WHERE jobs.seq = ?`;

/**
 * Null if the index lists a row that is not there. A row that cannot be read ends the transaction, because SQLite gives up
 * a transaction that meets a broken page; from then on it is passed over, so that others can be claimed.
 */
function loadSealed(context: Context, { seq }: Candidate): SealedJob | null {
  try {
    const row = context.sql.rowStatement(sealedText).get(seq) as Row | undefined;
    if (row === undefined) return null;
    return {
      job: readJob(context, row),
      document: (row[jobWidth] as string | null) ?? "",
      mac: row[jobWidth + 1] as Uint8Array | null,
    };
  } catch (error) {
    if (isDamage(error)) context.unreadable.add(seq);
    throw error;
  }
}
