// Readers of the log, messages that wait to be sent, and who is watched. Why: ADR 0014, ADR 0083.
import type { AdvanceInput, LogReader, NewMessage, OutboxMessage } from "../response-store.ts";
import { type Act, all, first, run } from "./act.ts";
import { Columns, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";

const logReaders = new Columns<LogReader>({ seq: number("seq"), memory: text("memory") });

/** The position of this log reader; a new one begins at the end of the log. */
export function* getLogReader(driver: ReadDriver, { name }: { name: string }): Act<LogReader> {
  const known = yield* first(logReaders, `SELECT ${logReaders.list} FROM log_readers WHERE name = ?`, name);
  return known ?? { seq: yield* driver.logEnd(), memory: "" };
}

/** Moves a reader forward together with the results of what it read, so that neither happens without the other. */
export function* advanceLogReader(driver: WriteDriver, input: AdvanceInput): Act<{ dropped: number }> {
  const { name, seq, memory, messages, watch, nowMs } = input;
  // This row keeps another reader of the same name from adding messages at the same time.
  yield* run(
    `INSERT INTO log_readers (name, seq, memory) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, memory = excluded.memory`,
    name,
    seq,
    memory,
  );
  for (const { subject, until } of watch) {
    driver.send(
      `INSERT INTO watched (subject, until) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET
        until = CASE WHEN watched.until > excluded.until THEN watched.until ELSE excluded.until END`,
      subject,
      until,
    );
  }
  if (messages.length === 0) return { dropped: 0 };
  const added = fitting(messages, yield* waitingOf(messages), input.waitingMax);
  for (const { channel, subject, body, data } of added) {
    driver.send(
      "INSERT INTO outbox (channel, subject, body, data, created_at, due_at, tries) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0)",
      channel,
      subject,
      body,
      data,
      nowMs,
    );
  }
  return { dropped: messages.length - added.length };
}

const waitingMessages = new Columns({ channel: text("channel"), waiting: number("count(*)") });

function* waitingOf(messages: NewMessage[]): Act<Map<string, number>> {
  const rows = yield* all(
    waitingMessages,
    `SELECT ${waitingMessages.list} FROM outbox WHERE channel = ANY (?) GROUP BY channel`,
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

const outbox = new Columns<OutboxMessage>({
  id: number("id"),
  channel: text("channel"),
  subject: text("subject"),
  body: text("body"),
  data: text("data"),
  createdAt: number("created_at"),
  dueAt: number("due_at"),
  tries: number("tries"),
});

/** The next message of a channel, whether or not it is due: those behind it wait for it. */
export function nextMessage(_: ReadDriver, { channel }: { channel: string }): Act<OutboxMessage | null> {
  return first(outbox, `SELECT ${outbox.list} FROM outbox WHERE channel = ? ORDER BY id LIMIT 1`, channel);
}

/** A message that was sent or is given up is deleted. Otherwise it is tried again then. */
export function* finishMessage(
  _: WriteDriver,
  { id, retryAt }: { id: number; retryAt: number | null },
): Act<void> {
  if (retryAt === null) yield* run("DELETE FROM outbox WHERE id = ?", id);
  else yield* run("UPDATE outbox SET tries = tries + 1, due_at = ? WHERE id = ?", retryAt, id);
}

const watched = new Columns({ subject: text("subject"), until: number("until") });

/** The subjects that are watched now; those whose time is over are removed on the way. */
export function* listWatched(
  _: WriteDriver,
  { nowMs }: { nowMs: number },
): Act<{ subject: string; until: number }[]> {
  yield* run("DELETE FROM watched WHERE until <= ?", nowMs);
  return yield* all(watched, `SELECT ${watched.list} FROM watched`);
}
