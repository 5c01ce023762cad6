import { parseQueueKey } from "../../../core/jobs/queue-key.ts";
import { type Queue, QueueBook, type QueueRow } from "../../queues/queue-book.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../database/connection.ts";

type BookContext = Pick<Context, "sql" | "book">;

export function loadBook(sql: Connection): QueueBook {
  const quotas = sql.all<{ tenantId: string; quota: string }>(
    "SELECT tenant_id AS tenantId, quota FROM quotas",
  );
  return new QueueBook({
    queues: sql.all<QueueRow>("SELECT id, key, pending, active, jobs FROM queues"),
    turns: sql.all("SELECT id AS tenantId, turn FROM tenants"),
    pausedTypes: sql.all<{ type: string }>("SELECT type FROM paused_types").map(({ type }) => type),
    quotas: quotas.map(({ tenantId, quota }) => ({ tenantId, quota: JSON.parse(quota) })),
  });
}

/** The queue with this key; created if there is none. Why: ADR 0031. */
export function openQueue({ sql, book }: BookContext, key: string): Queue {
  const known = book.byKey(key);
  if (known !== undefined) return known;
  const facts = parseQueueKey(key);
  const { lastInsertRowid } = sql
    .statement("INSERT INTO queues (key, tenant_id, type, pending, active, jobs) VALUES (?, ?, ?, 0, 0, 0)")
    .run(key, facts.tenant_id, facts.type);
  return book.enter({ id: Number(lastInsertRowid), key, pending: 0, active: 0, jobs: 0 });
}

/** Removes a queue that no job refers to any more. */
export function closeEmptyQueue({ sql, book }: BookContext, queue: Queue): void {
  if (queue.jobs > 0 || book.byId(queue.id) !== queue) return;
  sql.run("DELETE FROM queues WHERE id = ?", queue.id);
  book.leave(queue);
}

/** Writes what has changed in the book; one of the last steps before a commit. */
export function writeBook({ sql, book }: BookContext): void {
  const { queues, tenants } = book.takeChanges();
  for (const { id, pending, active, jobs } of queues) {
    sql.run("UPDATE queues SET pending = ?, active = ?, jobs = ? WHERE id = ?", pending, active, jobs, id);
  }
  for (const { id, turn } of tenants) {
    sql.run(
      "INSERT INTO tenants (id, turn) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET turn = excluded.turn",
      id,
      turn,
    );
  }
}
