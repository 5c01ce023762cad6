import type { Act, Answer, DriverWork, Query, SqlValue } from "../../acts/act.ts";
import { Columns, number } from "../../acts/columns.ts";
import type { ReadDriver, WorkerTable } from "../../acts/driver.ts";
import { workerColumns } from "../../acts/worker-rows.ts";
import type { WorkerRecord } from "../../worker-store.ts";
import type { Context } from "../context.ts";
import type { SqlValue as Bound, Connection } from "../database/connection.ts";

/** Runs an act to its end: here every statement is answered at once. Why: ADR 0111. */
export function driveAct<T>(sql: Connection, act: Act<T>): T {
  let step = act.next();
  while (!step.done) step = act.next(answerOf(sql, step.value));
  return step.value;
}

function answerOf(sql: Connection, step: Query | DriverWork): Answer {
  const answer: Answer = { rows: [], count: 0 };
  if (step.wants === "work") void step.work();
  else if (step.wants === "count") answer.count = sql.run(render(step.text), ...step.values.map(bound));
  else answer.rows = sql.all(render(step.text), ...step.values.map(bound));
  return answer;
}

const rendered = new Map<string, string>();

/** The text of an act as SQLite reads it. Texts are constants, so there are a few hundred at most. */
export function render(text: string): string {
  let own = rendered.get(text);
  if (own === undefined) {
    own = text
      .replaceAll(/\s+FOR (?:UPDATE|KEY SHARE)(?: OF \w+)?(?: SKIP LOCKED)?/g, "")
      .replaceAll(/= ANY \((\?\d*)\)/g, "IN (SELECT value FROM json_each($1))")
      .replaceAll(/\bnumber\b/g, "rowid");
    rendered.set(text, own);
  }
  return own;
}

export function bound(value: SqlValue): Bound {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

type CountContext = Pick<Context, "tallies" | "workers">;

export function readDriver(context: CountContext): ReadDriver {
  return {
    workers: workerTable(context),
    // biome-ignore lint/correctness/useYield: what memory holds needs no statement.
    *logEnd() {
      return context.tallies.get("event_seq");
    },
  };
}

const stored = new Columns({
  ...workerColumns,
  completed: number("w.completed"),
  failed: number("w.failed"),
});
const select = `SELECT ${stored.list} FROM workers w`;

/** What has not been written yet is counted in memory. */
function workerTable(context: CountContext): WorkerTable {
  return {
    select,
    counts: ["completed", "failed"],
    read(row): WorkerRecord {
      const { completed, failed, ...worker } = stored.read(row);
      const counted = context.workers.of(worker.id);
      return {
        ...worker,
        currentJobs: counted.active,
        jobCounts: { completed: completed + counted.completed, failed: failed + counted.failed },
      };
    },
  };
}
