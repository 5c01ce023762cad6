import type { Candidate, Queue } from "../../queues/queue-book.ts";
import type { Context } from "../context.ts";
import { writeRowsNow } from "../jobs/flush-rows.ts";

/** The front of a queue as the table has it, after everything that memory knows better is written there. Why: ADR 0116. */
export function readWindow(context: Context, queue: Queue, limit: number): Candidate[] {
  const { sql } = context;
  const passed = context.unreadable.jobs;
  writeRowsNow(context);
  const jobs = sql.all<Candidate>(
    "SELECT seq, priority FROM jobs WHERE queue_id = ? AND ready = 1 ORDER BY priority DESC, seq LIMIT ?",
    queue.id,
    limit + passed.size,
  );
  return passed.size === 0 ? jobs : jobs.filter(({ seq }) => !passed.has(seq));
}
