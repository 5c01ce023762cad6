import { statusNow } from "../../acts/worker-rows.ts";
import { type HeartbeatInput, heartbeatAnswer, type SignOfLife } from "../../worker-store.ts";
import { writeJob } from "../jobs/change-jobs.ts";
import type { Answer } from "../transaction/answers.ts";
import { type LockedJobs, lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { lockWorkers } from "./worker-row.ts";

const heartbeatText = `UPDATE workers w SET last_heartbeat = h.at, status = ${statusNow}, facts = h.facts
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS h (id, at, facts) WHERE w.id = h.id`;

/** Renews exactly the leases listed; a lease that the worker does not know must expire. Why: ADR 0087. */
export async function heartbeatWorker(tx: Transaction, inputs: HeartbeatInput[]): Promise<Answer[]> {
  const ids = [...new Set(inputs.map(({ workerId }) => workerId))];
  const workers = await tx.begin(() => lockWorkers(tx.sql, ids));
  const known = inputs.filter(({ workerId }) => workers.has(workerId));
  const jobs = await lockJobs(
    tx,
    known.flatMap(({ leases }) => leases.map(({ jobId }) => jobId)),
  );
  const seen = new Map<string, HeartbeatInput["rules"]["nowMs"]>();
  const answers = tx.inBook(() =>
    inputs.map((input) => {
      const worker = workers.get(input.workerId);
      if (worker === undefined) return { value: null };
      seen.set(worker.id, input.rules.nowMs);
      const { capabilities } = input;
      if (capabilities !== null)
        workers.set(worker.id, { ...worker, facts: { ...worker.facts, capabilities } });
      return { value: heartbeatAnswer(worker, renewLeases(tx, jobs, input)) };
    }),
  );
  if (seen.size > 0)
    tx.send(
      heartbeatText,
      [...seen.keys()],
      [...seen.values()],
      Array.from(seen.keys(), (id) => JSON.stringify(workers.get(id)!.facts)),
    );
  return answers;
}

/** Inside of `inBook`. */
function renewLeases(tx: Transaction, jobs: LockedJobs, { leases, rules }: HeartbeatInput) {
  return leases.map(({ jobId, fence, usage }) => {
    const kept = jobs.get(jobId);
    if (kept === undefined) return { jobId, renewed: null };
    const answer = writeJob(tx, jobs, kept, { act: "renew", fence, usage }, { rules, origin: null });
    return { jobId, renewed: answer.kind === "moved" ? answer.job : null };
  });
}

/** Locked in the order in which everybody locks workers. */
const signsText = `WITH heard AS (SELECT id, at FROM unnest($1::text[], $2::bigint[]) AS h (id, at)),
    locked AS (SELECT w.id FROM workers w WHERE w.id = ANY ($1) ORDER BY w.id FOR UPDATE)
  UPDATE workers w SET last_heartbeat = greatest(w.last_heartbeat, h.at), status = ${statusNow}
  FROM heard h JOIN locked l USING (id) WHERE w.id = h.id`;

export async function noteSignsOfLife(tx: Transaction, { signs }: { signs: SignOfLife[] }): Promise<void> {
  tx.send(
    signsText,
    signs.map(({ workerId }) => workerId),
    signs.map(({ atMs }) => atMs),
  );
}
