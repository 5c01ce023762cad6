import { join } from "node:path";
import { jobStates } from "../../src/core/jobs/job.ts";
import { readMacKey } from "../../src/signing/key-files.ts";
import { idOfHex } from "../../src/store/frames/job-line.ts";
import { type Context, loadContext } from "../../src/store/sqlite/context.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { flushRows } from "../../src/store/sqlite/jobs/flush-rows.ts";
import { getJob } from "../../src/store/sqlite/reads/get-job.ts";
import { ReadContext } from "../../src/store/sqlite/reads/read-context.ts";
import { readEvents } from "../../src/store/sqlite/reads/read-events.ts";
import { sqliteTamper, writeRows } from "../store-contract/sqlite-tamper.ts";
import type { Tamper } from "../store-contract/under-test.ts";
import type { StoredEvent } from "./database.ts";

// What tests read of a file that keeps jobs in group frames, beside the hub that has it open.

const busyTimeoutMs = 5_000;

/** The rows as they will be once the hub has written them; nothing is changed. */
export function withWrittenRows<T>(home: string, act: (sql: Connection) => T): T {
  const sql = new Connection(pathOf(home), busyTimeoutMs);
  try {
    sql.script("BEGIN IMMEDIATE");
    const context: Context = loadContext(sql, keyOf(home));
    flushRows(context);
    return act(sql);
  } finally {
    if (sql.inTransaction) sql.script("ROLLBACK");
    sql.close();
  }
}

export function framedEvents(home: string, afterSeq: number): StoredEvent[] {
  const sql = new Connection(pathOf(home), busyTimeoutMs, { isReader: true });
  try {
    const events = readEvents(new ReadContext(sql, keyOf(home)), {
      afterSeq,
      limit: Number.MAX_SAFE_INTEGER,
    });
    return events.map(({ seq, event, ts, tenantId, jobId, ownerId, jobSeq, details, origin }) => ({
      seq,
      event,
      ts,
      tenant_id: tenantId,
      job_id: jobId,
      owner_id: ownerId,
      job_seq: jobSeq,
      details,
      origin: origin as StoredEvent["origin"],
    }));
  } finally {
    sql.close();
  }
}

export function framedStatuses(home: string): Map<string, string> {
  const rows = withWrittenRows(home, (sql) =>
    sql.all<{ id: string; status: number }>("SELECT lower(hex(id)) AS id, status FROM jobs"),
  );
  return new Map(rows.map(({ id, status }) => [idOfHex(id), jobStates[status]!]));
}

export function framedReceipt(home: string, jobId: string): string | null {
  const sql = new Connection(pathOf(home), busyTimeoutMs, { isReader: true });
  try {
    return getJob(loadContext(sql, keyOf(home)), { jobId })?.job.receipt ?? null;
  } finally {
    sql.close();
  }
}

/** The rows are written now, as the hub does within a moment. */
export function writeRowsOf(home: string): void {
  writeRows(pathOf(home), keyOf(home));
}

export function tamperWithFrames(home: string): Tamper {
  return sqliteTamper(pathOf(home), keyOf(home));
}

function keyOf(home: string): Buffer {
  return readMacKey(join(home, "keys"));
}

function pathOf(home: string): string {
  return join(home, "writ.sqlite");
}
