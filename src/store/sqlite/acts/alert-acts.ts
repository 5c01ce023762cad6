import type { AdvanceInput, LogReader, OutboxMessage } from "../../response-store.ts";
import type { Context } from "../context.ts";

/** The position of this log reader; a new one begins at the end of the log. */
export function getLogReader(context: Context, { name }: { name: string }): LogReader {
  const known = context.sql.first<LogReader>("SELECT seq, memory FROM log_readers WHERE name = ?", name);
  return known ?? { seq: context.tallies.get("event_seq"), memory: "" };
}

/** Moves a reader forward together with the results of what it read, so that neither happens without the other. */
export function advanceLogReader(context: Context, input: AdvanceInput): { dropped: number } {
  context.sql.run(
    `INSERT INTO log_readers (name, seq, memory) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, memory = excluded.memory`,
    input.name,
    input.seq,
    input.memory,
  );
  for (const { subject, until } of input.watch) {
    context.sql.run(
      `INSERT INTO watched (subject, until) VALUES (?, ?)
        ON CONFLICT (subject) DO UPDATE SET until = max(until, excluded.until)`,
      subject,
      until,
    );
  }
  const added = input.messages.filter((message) => addMessage(context, message, input));
  return { dropped: input.messages.length - added.length };
}

/** A channel that is down for long keeps its oldest messages, because they tell how it began. */
function addMessage(
  context: Context,
  message: AdvanceInput["messages"][number],
  input: AdvanceInput,
): boolean {
  const { waiting } = context.sql.first<{ waiting: number }>(
    "SELECT count(*) AS waiting FROM outbox WHERE channel = ?",
    message.channel,
  )!;
  if (waiting >= input.waitingMax) return false;
  const { channel, subject, body, data } = message;
  context.sql.run(
    `INSERT INTO outbox (channel, subject, body, data, created_at, due_at, tries) VALUES (?, ?, ?, ?, ?, ?, 0)`,
    channel,
    subject,
    body,
    data,
    input.nowMs,
    input.nowMs,
  );
  return true;
}

/** The next message of a channel, whether or not it is due: those behind it wait for it. */
export function nextMessage(context: Context, { channel }: { channel: string }): OutboxMessage | null {
  return context.sql.first<OutboxMessage>(
    `SELECT id, channel, subject, body, data, created_at AS createdAt, due_at AS dueAt, tries
      FROM outbox WHERE channel = ? ORDER BY id LIMIT 1`,
    channel,
  );
}

/** A message that was sent or is given up is deleted. Otherwise it is tried again then. */
export function finishMessage(
  context: Context,
  { id, retryAt }: { id: number; retryAt: number | null },
): void {
  if (retryAt === null) context.sql.run("DELETE FROM outbox WHERE id = ?", id);
  else context.sql.run("UPDATE outbox SET tries = tries + 1, due_at = ? WHERE id = ?", retryAt, id);
}

/** Those who are watched now; those whose time is over are removed on the way. */
export function listWatched(
  context: Context,
  { nowMs }: { nowMs: number },
): { subject: string; until: number }[] {
  context.sql.run("DELETE FROM watched WHERE until <= ?", nowMs);
  return context.sql.all("SELECT subject, until FROM watched");
}
