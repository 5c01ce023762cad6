import type { ChangeContext } from "../../../core/jobs/effects.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import {
  type Act,
  type Answer,
  all,
  type DriverWork,
  doWork,
  first,
  type Query,
  run,
} from "../../acts/act.ts";
import { Columns, number, text } from "../../acts/columns.ts";
import type { ReadDriver, WriteDriver } from "../../acts/driver.ts";
import type { SubmitOutcome } from "../../store.ts";
import type { Connection } from "../connection/connection.ts";
import { writeJob } from "../jobs/change-jobs.ts";
import { submitInside } from "../jobs/submit-jobs.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { lockAllWorkersText, workers } from "./worker-row.ts";

/**
 * Runs an act to its end. What it has sent without waiting is on its way before the statement that it waits for.
 * Why: ADR 0111.
 */
export async function driveAct<T>(sql: Connection, act: Act<T>): Promise<T> {
  let step = act.next();
  while (!step.done) step = act.next(await answerOf(sql, step.value));
  return step.value;
}

async function answerOf(sql: Connection, step: Query | DriverWork): Promise<Answer> {
  const answer: Answer = { rows: [], count: 0 };
  if (step.wants === "work") await step.work();
  else if (step.wants === "count") answer.count = await sql.run(render(step.text), ...step.values);
  else answer.rows = await sql.all(render(step.text), ...step.values);
  return answer;
}

const rendered = new Map<string, string>();

/** The text of an act as PostgreSQL reads it. Texts are constants, so there are a few hundred at most. */
function render(text: string): string {
  let own = rendered.get(text);
  if (own === undefined) {
    let values = 0;
    own = text.replaceAll(/\?(\d*)/g, (_, place: string) => `$${place || ++values}`);
    rendered.set(text, own);
  }
  return own;
}

const statuses = new Columns({ id: text("jobs.id"), status: text<JobState>("job_states.status") });
const logEnd = new Columns({ last: number("last") });

export const readDriver: ReadDriver = {
  workers,
  *logEnd() {
    return (yield* first(logEnd, `SELECT ${logEnd.list} FROM log_state`))!.last;
  },
};

export function writeDriver(tx: Transaction): WriteDriver {
  const { work, shared } = tx;
  return {
    ...readDriver,
    book: shared.book,
    notice: work.notice,
    heldAttempts: "SELECT j.id, s.attempt FROM jobs j JOIN active s USING (seq)",
    send: (text, ...values) => tx.send(render(text), ...values),
    append: (event) => tx.log(event),
    // The next transaction of each hub reads them.
    changeSettings() {
      work.isSettings = true;
    },
    *stopClaims() {
      yield* run(lockAllWorkersText);
      // A transaction that is just leasing jobs holds this table: whatever takes leases back next must find them all.
      yield* run("LOCK TABLE ready IN EXCLUSIVE MODE");
    },
    *submitJobs(inputs) {
      let outcomes: SubmitOutcome[] = [];
      yield* doWork(async () => {
        outcomes = await submitInside(tx, inputs);
      });
      return outcomes;
    },
    *statusesOf(jobIds) {
      const found = yield* all(
        statuses,
        `SELECT ${statuses.list} FROM jobs JOIN job_states USING (seq) WHERE jobs.id = ANY (?)`,
        jobIds,
      );
      return new Map(found.map(({ id, status }) => [id, status]));
    },
    countWorker: (workerId) =>
      tx.send(
        "INSERT INTO worker_counts (worker_id, completed, failed) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING",
        workerId,
      ),
    tellWorker: (workerId, now) => tellWorker(tx, workerId, now),
    disconnectJobs: (workerId, how) => disconnectJobs(tx, workerId, how),
    forgetWorker: (workerId) => void work.forgottenWorkers.push(workerId),
  };
}

async function disconnectJobs(tx: Transaction, workerId: string, how: ChangeContext): Promise<void> {
  const held = await tx.sql.all<{ id: string }>(
    "SELECT j.id FROM active s JOIN jobs j USING (seq) WHERE s.worker_id = $1 ORDER BY s.seq",
    workerId,
  );
  const jobs = await lockJobs(
    tx,
    held.map(({ id }) => id),
  );
  tx.inBook(() => {
    for (const kept of [...jobs.values()].sort((a, b) => a.job.seq - b.job.seq)) {
      // It may have ended, or gone to another, before it was locked.
      if (kept.place === "active" && kept.job.workerId === workerId)
        writeJob(tx, jobs, kept, { act: "disconnect" }, how);
    }
  });
}

/** Whatever waits for the worker, at any hub, was asked for by what it was before. */
export function tellWorker({ work }: Transaction, workerId: string, now?: { draining: boolean }): void {
  work.notice.worker(workerId, now);
  work.isNews = true;
}
