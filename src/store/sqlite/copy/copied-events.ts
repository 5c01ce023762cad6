// The events of a log that is copied into frames, and out of them. Why: ADR 0086, ADR 0116.

import type { CopyKey, CopyRow } from "../../database/database-copy.ts";
import type { FrameRecord } from "../../frames/records.ts";
import type { Connection } from "../database/connection.ts";
import { idBytes } from "../jobs/job-entry.ts";
import type { ReadContext } from "../reads/read-context.ts";
import { framesAfter, recordsIn } from "../reads/read-events.ts";
import { ChainOfCopy, type LogNumbers } from "./copied-log.ts";
import type { FrameWriter } from "./frame-writer.ts";

type Target = { sql: Connection; frames: FrameWriter; numbers: LogNumbers };

/**
 * Until its job is copied, where the events of a job are. They are copied first, because a job that is gone has events too.
 */
export const copiedEventsText = `CREATE TABLE IF NOT EXISTS copied_events (
  id BLOB NOT NULL,
  frame INTEGER NOT NULL,
  PRIMARY KEY (id, frame)
) STRICT, WITHOUT ROWID`;

export function writeEvents({ sql, frames, numbers }: Target, rows: CopyRow[]): void {
  const chain = new ChainOfCopy(numbers, frames.chainEnd);
  for (const row of rows) {
    const { seq, stored, severity, hash, prevHash } = chain.next(row);
    if (stored === null) frames.addSeal(seq, hash);
    else {
      frames.addEvent({ stored, severity, hash, prevHash });
      noteFrame(sql, stored.jobId, frames.number);
      if (frames.isFull) frames.end();
    }
  }
  frames.end();
}

function noteFrame(sql: Connection, jobId: string | null, frame: number): void {
  const id = jobId === null ? null : idBytes(jobId);
  if (id !== null) sql.run("INSERT OR IGNORE INTO copied_events VALUES (?, ?)", id, frame);
}

/** What is left when all jobs are copied belongs to jobs that are gone. */
export function keepTimelines(sql: Connection): void {
  sql.run(
    `INSERT INTO timelines SELECT id, max(frame), group_concat(frame, ',' ORDER BY frame) FROM copied_events GROUP BY id`,
  );
  sql.run("DROP TABLE copied_events");
}

type Seal = { seq: number; hash: string };

/** In order of their numbers. Of what retention has removed, the last hash stays, which the next record follows. */
export function* readEvents(context: ReadContext, key: CopyKey | null): Generator<CopyRow> {
  const after = key === null ? 0 : (key[0] as number);
  const pruned = prunedThrough(context.sql);
  const skipped = context.sql.all<Seal>(
    "SELECT through_seq AS seq, hash FROM skipped_events WHERE through_seq > ? AND through_seq >= ? ORDER BY 1",
    after,
    pruned,
  );
  for (const number of framesAfter(context, Math.max(after, pruned - 1), Number.MAX_SAFE_INTEGER)) {
    for (const read of recordsIn(context, number)) {
      while (skipped[0] !== undefined && skipped[0].seq < read.seq) yield sealRow(skipped.shift()!);
      if (read.seq > after && read.seq >= pruned) yield rowOf(read);
    }
  }
  for (const seal of skipped) yield sealRow(seal);
}

export function countEvents(sql: Connection): number {
  const { count } = sql.first<{ count: number }>(
    `SELECT (SELECT coalesce(sum(last_event - max(first_event, ?1) + 1), 0) FROM frames
          WHERE last_event >= ?1 AND last_event >= first_event)
        + (SELECT count(*) FROM skipped_events WHERE through_seq >= ?1) AS count`,
    prunedThrough(sql),
  )!;
  return count;
}

/** The number of the last record that retention has removed. */
export function prunedThrough(sql: Connection): number {
  return sql.first<{ value: number }>("SELECT value FROM tallies WHERE name = 'pruned_event'")?.value ?? 0;
}

function sealRow({ seq, hash }: Seal): CopyRow {
  return { ...noEvent, seq, severity: "LOW", hash };
}

const noEvent = {
  ts: null,
  event: null,
  tenant_id: null,
  job_id: null,
  owner_id: null,
  job_seq: null,
  details: null,
  origin: null,
};

function rowOf({ seq, hash, event }: FrameRecord): CopyRow {
  if (event === null) return sealRow({ seq, hash });
  const { stored, severity } = event;
  return {
    seq,
    ts: stored.ts,
    event: stored.event,
    tenant_id: stored.tenantId,
    job_id: stored.jobId,
    owner_id: stored.ownerId,
    job_seq: stored.jobSeq,
    details: stored.details,
    origin: stored.origin,
    severity,
    hash,
  };
}
