import type { Connection } from "../database/connection.ts";

type Counts = { active: number; completed: number; failed: number };

/**
 * How many jobs each worker holds, and how many of its attempts have ended since the last flush. Kept in memory: an
 * index by worker would be written twice for each job, and the sums once per job instead of once per commit.
 * Why: ADR 0003.
 */
export class WorkerCounts {
  readonly #counts = new Map<string, Counts>();
  #undo: (() => void)[] = [];

  /** With the jobs that each worker holds now. */
  constructor(held: { workerId: string; active: number }[]) {
    for (const { workerId, active } of held) this.#counts.set(workerId, { active, completed: 0, failed: 0 });
  }

  of(workerId: string): Counts {
    return this.#counts.get(workerId) ?? { active: 0, completed: 0, failed: 0 };
  }

  add(workerId: string, difference: Partial<Counts>): void {
    const before = this.of(workerId);
    this.#counts.set(workerId, {
      active: before.active + (difference.active ?? 0),
      completed: before.completed + (difference.completed ?? 0),
      failed: before.failed + (difference.failed ?? 0),
    });
    this.#undo.push(() => this.#counts.set(workerId, before));
  }

  mark(): number {
    return this.#undo.length;
  }

  backTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }

  flush(connection: Connection): void {
    if (this.#undo.length === 0) return;
    this.#undo = [];
    for (const [workerId, { active, completed, failed }] of this.#counts) {
      if (completed + failed > 0) {
        connection.run(
          "UPDATE workers SET completed = completed + ?, failed = failed + ? WHERE id = ?",
          completed,
          failed,
          workerId,
        );
      }
      if (active === 0) this.#counts.delete(workerId);
      else if (completed + failed > 0) this.#counts.set(workerId, { active, completed: 0, failed: 0 });
    }
  }
}

export function loadWorkerCounts(sql: Connection): WorkerCounts {
  return new WorkerCounts(
    sql.all(
      `SELECT names.name AS workerId, count(*) AS active FROM jobs JOIN names ON names.number = jobs.worker
        WHERE due_at IS NOT NULL AND status IN (1, 2) GROUP BY worker`,
    ),
  );
}
