import type { AdvanceInput, LogReader, NewMessage, OutboxMessage } from "../../response-store.ts";
import { type Connection, toJson } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** The position of this log reader; a new one begins at the end of the log. */
export async function getLogReader(sql: Connection, { name }: { name: string }): Promise<LogReader> {
  const row = await sql.first<LogReader>(
    `SELECT coalesce(r.seq, s.last) AS seq, coalesce(r.memory, '') AS memory
      FROM log_state s LEFT JOIN log_readers r ON r.name = $1`,
    name,
  );
  return row!;
}

/** Moves a reader forward together with the results of what it read, so that neither happens without the other. */
export async function advanceLogReader(tx: Transaction, input: AdvanceInput): Promise<{ dropped: number }> {
  const { name, seq, memory, messages, watch } = input;
  // This row keeps another who reads under the same name from adding messages at the same time.
  await tx.sql.run(
    `INSERT INTO log_readers (name, seq, memory) VALUES ($1, $2, $3)
      ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, memory = excluded.memory`,
    name,
    seq,
    memory,
  );
  for (const { subject, until } of watch) {
    tx.send(
      `INSERT INTO watched (subject, until) VALUES ($1, $2)
        ON CONFLICT (subject) DO UPDATE SET until = greatest(watched.until, excluded.until)`,
      subject,
      until,
    );
  }
  if (messages.length === 0) return { dropped: 0 };
  const added = fitting(messages, await waitingOf(tx.sql, messages), input.waitingMax);
  if (added.length > 0)
    tx.send(
      `INSERT INTO outbox (channel, subject, body, data, created_at, due_at, tries)
        SELECT channel, subject, body, data, $2, $2, 0
        FROM json_to_recordset($1) AS m (channel text, subject text, body text, data text)`,
      toJson(added),
      input.nowMs,
    );
  return { dropped: messages.length - added.length };
}

async function waitingOf(sql: Connection, messages: NewMessage[]): Promise<Map<string, number>> {
  const rows = await sql.all<{ channel: string; waiting: number }>(
    "SELECT channel, count(*) AS waiting FROM outbox WHERE channel = ANY ($1) GROUP BY channel",
    [...new Set(messages.map(({ channel }) => channel))],
  );
  return new Map(rows.map(({ channel, waiting }) => [channel, waiting]));
}

/** A channel that is down for long keeps its oldest messages, because they tell how it began. */
function fitting(messages: NewMessage[], waiting: Map<string, number>, waitingMax: number): NewMessage[] {
  return messages.filter(({ channel }) => {
    const count = waiting.get(channel) ?? 0;
    if (count >= waitingMax) return false;
    waiting.set(channel, count + 1);
    return true;
  });
}

/** The next message of a channel, whether or not it is due: those behind it wait for it. */
export function nextMessage(
  sql: Connection,
  { channel }: { channel: string },
): Promise<OutboxMessage | null> {
  return sql.first<OutboxMessage>(
    `SELECT id, channel, subject, body, data, created_at AS "createdAt", due_at AS "dueAt", tries
      FROM outbox WHERE channel = $1 ORDER BY id LIMIT 1`,
    channel,
  );
}

/** A message that was sent or is given up is deleted. Otherwise it is tried again then. */
export async function finishMessage(
  { sql }: Transaction,
  { id, retryAt }: { id: number; retryAt: number | null },
): Promise<void> {
  if (retryAt === null) await sql.run("DELETE FROM outbox WHERE id = $1", id);
  else await sql.run("UPDATE outbox SET tries = tries + 1, due_at = $1 WHERE id = $2", retryAt, id);
}

/** Those who are watched now; those whose time is over are removed on the way. */
export async function listWatched(
  { sql }: Transaction,
  { nowMs }: { nowMs: number },
): Promise<{ subject: string; until: number }[]> {
  await sql.run("DELETE FROM watched WHERE until <= $1", nowMs);
  return sql.all("SELECT subject, until FROM watched");
}
