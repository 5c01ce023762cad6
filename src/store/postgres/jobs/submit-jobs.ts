import { submitEffects } from "../../../core/jobs/effects.ts";
import { type JobRecord, type NewJob, newJobRecord } from "../../../core/jobs/job.ts";
import { parseQueueKey } from "../../../core/jobs/queue-key.ts";
import { queuesAllowed } from "../../../core/jobs/quota.ts";
import type { StoredFile } from "../../../core/storage-policy.ts";
import { checkLanes } from "../../acts/check-lanes.ts";
import type { LaneRow } from "../../acts/lane-rows.ts";
import { sealJob } from "../../jobs/job-seal.ts";
import { answerRepeat, type KnownJob, refusalByQuota } from "../../jobs/submit-rules.ts";
import type { Store, SubmitOutcome } from "../../store.ts";
import { driveAct } from "../acts/drive-act.ts";
import { handOver } from "../claims/hand-over.ts";
import { type Connection, toJson } from "../connection/connection.ts";
import type { Answer } from "../transaction/answers.ts";
import { insertJobs, type SubmittedJob } from "../transaction/job-writes.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { findRefused, type Holders, lockHolders, meetHolder } from "./unique-keys.ts";

type SubmitInput = Parameters<Store["submitJobs"]>[0];
type Accepted = Extract<SubmitOutcome, { kind: "accepted" }>["jobs"];

/**
 * Accepts each of these batches as a whole, or refuses it. Nothing is written before all is decided.
 * Why: ADR 0080, ADR 0087.
 */
export async function submitJobs(tx: Transaction, inputs: SubmitInput[]): Promise<Answer[]> {
  const jobs = inputs.flatMap((input) => input.jobs);
  const outcomes = await submitAll(tx, inputs, await tx.begin(() => readFor(tx, jobs)));
  return outcomes.map((value) => ({ value }));
}

/** The same in a transaction that has begun, as a part of another act. */
export async function submitInside(tx: Transaction, inputs: SubmitInput[]): Promise<SubmitOutcome[]> {
  const jobs = inputs.flatMap((input) => input.jobs);
  if (jobs.length === 0) return inputs.map(() => ({ kind: "accepted", jobs: [] }));
  return submitAll(tx, inputs, await readFor(tx, jobs));
}

type Read = [known: KnownRow[], seqs: number[]];

function readFor(tx: Transaction, jobs: NewJob[]): Promise<Read> {
  return Promise.all([readKnown(tx.sql, jobs), takeNumbers(tx.sql, jobs.length)]);
}

async function submitAll(
  tx: Transaction,
  inputs: SubmitInput[],
  [rows, seqs]: Read,
): Promise<SubmitOutcome[]> {
  const jobs = inputs.flatMap((input) => input.jobs);
  await openQueues(tx, jobs);
  const holders = await lockHolders(tx, jobs);
  const group: Group = { known: new KnownJobs(rows), seqs: seqs.values(), rows: [], holders };
  const refused = await refusalsByLane(tx, inputs, group.known);
  const answers = tx.inBook(() => inputs.map((input) => refused.get(input) ?? submitBatch(tx, input, group)));
  if (tx.work.jobs.size > 0 && tx.shared.parked.isWaiting) {
    await tx.lanes.settle();
    tx.sql.together(() => tx.writeJobs(group.rows));
    await handOver(tx, Math.max(...jobs.map(({ createdAt }) => createdAt)));
  } else tx.newRows = group.rows;
  return answers;
}

/** Jobs that exist are answered as before, whatever their lanes are now. */
async function refusalsByLane(
  tx: Transaction,
  inputs: SubmitInput[],
  known: KnownJobs,
): Promise<Map<SubmitInput, SubmitOutcome>> {
  const refused = new Map<SubmitInput, SubmitOutcome>();
  const drafts: LaneRow[] = [];
  const isNew = (job: NewJob) => !known.isTaken(job);
  for (const input of inputs) {
    if (input.jobs.every(({ terms }) => terms === null)) continue;
    const refusal = await driveAct(tx.sql, checkLanes(input.jobs, { drafts, isNew }));
    if (refusal !== null) refused.set(input, refusal);
  }
  return refused;
}

type Group = {
  known: KnownJobs;
  seqs: Iterator<number, undefined>;
  rows: SubmittedJob[];
  holders: Holders;
};

/** As many rows are sent while the next ones are still being made, so that the database works meanwhile. */
const rowsSent = 200;

function submitBatch(tx: Transaction, input: SubmitInput, group: Group): SubmitOutcome {
  const refusal =
    refusalByQuota(tx.shared.book, input, (job) => isKnown(job, group)) ??
    refusalByName(input, group.known) ??
    refusalByKey(input, group);
  if (refusal !== null) return refusal;
  const { book } = tx.shared;
  const opened = new Set(
    input.jobs.filter(({ queueKey }) => book.byKey(queueKey)!.pending === 0).map(({ tenantId }) => tenantId),
  );
  const jobs: Accepted = input.jobs.map((job, index) => {
    if (group.known.isTaken(job)) {
      const answer = answerRepeat(job, index, group.known.of(job));
      return (answer as { job: Accepted[number] }).job;
    }
    const standing = meetHolder(tx, job, { holders: group.holders, origin: input.origin });
    if (standing !== null) return standing;
    accept(tx, job, input, group);
    return { id: job.id, status: "pending", existed: false };
  });
  if (!tx.isExact) limitTenants(tx, input, opened);
  return { kind: "accepted", jobs };
}

/** Others may have used up the same quotas meanwhile. How many queues wait only matters to who makes one of them wait. */
function limitTenants(tx: Transaction, { jobs, maxPending }: SubmitInput, opened: Set<string>): void {
  if (maxPending !== null) for (const { tenantId } of jobs) tx.work.limit(tenantId, { pending: maxPending });
  for (const tenantId of opened)
    tx.work.limit(tenantId, { queues: queuesAllowed(tx.shared.book.quota(tenantId)) });
}

/** Also the jobs of one batch may have the same name. */
function refusalByName({ jobs }: SubmitInput, known: KnownJobs): SubmitOutcome | null {
  const batch = known.draft();
  for (const [index, job] of jobs.entries()) {
    if (!batch.isTaken(job)) {
      batch.add(job);
      continue;
    }
    const answer = answerRepeat(job, index, batch.of(job));
    if ("refusal" in answer) return answer.refusal;
  }
  return null;
}

function isKnown(job: NewJob, { known, holders }: Group): boolean {
  return known.of(job) !== null || holders.of(job, job.createdAt) !== undefined;
}

/** A repeated request is answered first, even if another user has its key now. */
function refusalByKey({ jobs }: SubmitInput, { known, holders }: Group): SubmitOutcome | null {
  const index = findRefused(jobs, holders, (job) => known.isTaken(job));
  return index === -1 ? null : { kind: "unique_held", index };
}

function accept(tx: Transaction, job: NewJob, { origin }: SubmitInput, group: Group): void {
  const { known, seqs, rows, holders } = group;
  const queue = tx.shared.book.byKey(job.queueKey)!;
  const record = newJobRecord(job, seqs.next().value!);
  const mac = sealJob(tx.context.macKey, record, job.document);
  const { document, summary, isKeyChosen } = job;
  if (rows.length === rowsSent) tx.sendStatement(insertJobs(rows.splice(0)));
  rows.push({ job: record, queueId: queue.id, isKeyChosen, document, mac, summary });
  if (job.inputs !== undefined) insertInputs(tx, record, job.inputs);
  const effects = submitEffects(record, origin);
  const kept = tx.apply(null, effects, queue.id);
  if (record.terms !== null) {
    holders.note(kept);
    tx.lanes.note(null, kept, {
      nowMs: job.createdAt,
      lingersUntil: null,
      isAnnounced: effects.notices.isReady,
    });
  }
  known.add(job);
}

function insertInputs(tx: Transaction, job: JobRecord, inputs: readonly StoredFile[]): void {
  tx.send(
    `INSERT INTO job_inputs (job_seq, tenant_id, folder_id, object_key, sha256)
      SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[]) ON CONFLICT DO NOTHING`,
    job.seq,
    job.tenantId,
    inputs.map(({ folder_id }) => folder_id),
    inputs.map(({ object_key }) => object_key),
    inputs.map(({ sha256 }) => sha256),
  );
}

/** New queues exist from now on, whatever becomes of this transaction: all hubs must agree on their numbers. */
async function openQueues(tx: Transaction, jobs: NewJob[]): Promise<void> {
  const { book } = tx.shared;
  const keys = new Set(jobs.map(({ queueKey }) => queueKey).filter((key) => book.byKey(key) === undefined));
  if (keys.size === 0) return;
  const rows = [...keys].sort().map((key) => {
    const { tenant_id, type } = parseQueueKey(key);
    return { key, tenant_id, type };
  });
  const found = await tx.context.apart(async (sql) => {
    await sql.run(
      `INSERT INTO queues (key, tenant_id, type)
        SELECT * FROM json_to_recordset($1) AS r (key text, tenant_id text, type text) ON CONFLICT (key) DO NOTHING`,
      toJson(rows),
    );
    return sql.all<{ id: number; key: string }>("SELECT id, key FROM queues WHERE key = ANY ($1)", [...keys]);
  });
  for (const { id, key } of found) tx.newQueues.set(key, id);
}

async function takeNumbers(sql: Connection, count: number): Promise<number[]> {
  const rows = await sql.all<{ seq: number }>(
    "SELECT nextval('job_seq') AS seq FROM generate_series(1, $1::int)",
    count,
  );
  return rows.map(({ seq }) => seq);
}

type KnownRow = KnownJob & { tenantId: string; key: string; isKeyChosen: boolean };

/** All jobs that one of these could be a repetition of, or whose id is taken. */
function readKnown(sql: Connection, jobs: NewJob[]): Promise<KnownRow[]> {
  const chosen = jobs.filter(({ isKeyChosen }) => isKeyChosen);
  return sql.all<KnownRow>(
    `SELECT j.id, j.user_id AS "userId", s.status, j.request_hash AS "requestHash", j.tenant_id AS "tenantId",
        j.idempotency_key AS key, j.is_key_chosen AS "isKeyChosen"
      FROM (
        SELECT seq FROM jobs WHERE id = ANY ($1)
        UNION
        SELECT seq FROM jobs JOIN unnest($2::text[], $3::text[]) AS k (tenant_id, key)
          ON jobs.tenant_id = k.tenant_id AND jobs.idempotency_key = k.key AND jobs.is_key_chosen
      ) AS found JOIN jobs j USING (seq) JOIN job_states s USING (seq)`,
    jobs.map(({ id }) => id),
    chosen.map(({ tenantId }) => tenantId),
    chosen.map(({ idempotencyKey }) => idempotencyKey),
  );
}

/** The names that are taken: ids, and the keys that producers chose. What is added to a draft stays in the draft. */
class KnownJobs {
  readonly #byId = new Map<string, KnownRow>();
  readonly #byKey = new Map<string, KnownRow>();
  readonly #draftOf: KnownJobs | null;

  constructor(rows: Iterable<KnownRow>, draftOf: KnownJobs | null = null) {
    this.#draftOf = draftOf;
    for (const row of rows) this.#note(row);
  }

  draft(): KnownJobs {
    return new KnownJobs([], this);
  }

  isTaken(job: NewJob): boolean {
    return this.#withId(job.id) !== undefined || (job.isKeyChosen && this.#withKey(job) !== undefined);
  }

  /** Found by the key that the producer chose, else by the id; never in another tenant. */
  of(job: NewJob): KnownJob | null {
    if (job.isKeyChosen) return this.#withKey(job) ?? null;
    const found = this.#withId(job.id);
    return found?.tenantId === job.tenantId ? found : null;
  }

  #withId(id: string): KnownRow | undefined {
    return this.#byId.get(id) ?? (this.#draftOf === null ? undefined : this.#draftOf.#withId(id));
  }

  #withKey(job: NewJob): KnownRow | undefined {
    const found = this.#byKey.get(keyOf(job.tenantId, job.idempotencyKey));
    return found ?? (this.#draftOf === null ? undefined : this.#draftOf.#withKey(job));
  }

  add({ id, userId, requestHash, tenantId, idempotencyKey: key, isKeyChosen }: NewJob): void {
    this.#note({ id, userId, status: "pending", requestHash, tenantId, key, isKeyChosen });
  }

  #note(row: KnownRow): void {
    this.#byId.set(row.id, row);
    if (row.isKeyChosen) this.#byKey.set(keyOf(row.tenantId, row.key), row);
  }
}

function keyOf(tenantId: string, key: string): string {
  return JSON.stringify([tenantId, key]);
}
