import { DatabaseSync } from "node:sqlite";
import type { EventKind, LoggedEvent, Severity } from "../../core/events.ts";
import type { AuditMark } from "../audit-store.ts";

/** A row of the log beside its seal; either may be missing where somebody has been at work. */
export type HotRow = {
  seq: number;
  event: LoggedEvent | null;
  seal: { severity: Severity; hash: string } | null;
};

export type AuditReader = {
  /** In order of seq, after one. */
  rows(afterSeq: number): Iterable<HotRow>;
  marks(): AuditMark[];
  /** The number of the last event that the hub has ever written. */
  lastSeq(): number;
  close(): void;
};

const text = `SELECT seq, event, ts, tenant_id, job_id, owner_id, job_seq, details, origin, severity, hash
  FROM events FULL OUTER JOIN audit_seals USING (seq) WHERE seq > ? ORDER BY seq`;

/** Reads the audit trail of a database, which a hub may be using at the same time, as it was at one moment. */
export function openAuditReader(path: string): AuditReader {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    database.exec("BEGIN");
    return {
      *rows(afterSeq) {
        for (const row of database.prepare(text).iterate(afterSeq)) yield readRow(row);
      },
      marks: () => database.prepare("SELECT * FROM audit_marks ORDER BY seq").all() as AuditMark[],
      lastSeq: () => {
        const row = database.prepare("SELECT value FROM tallies WHERE name = 'event_seq'").get();
        return Number(row?.["value"] ?? 0);
      },
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function readRow(row: Record<string, unknown>): HotRow {
  const hash = row["hash"] as string | null;
  return {
    seq: row["seq"] as number,
    event: row["event"] === null ? null : readEvent(row),
    seal: hash === null ? null : { hash, severity: row["severity"] as Severity },
  };
}

function readEvent(row: Record<string, unknown>): LoggedEvent {
  return {
    seq: row["seq"] as number,
    event: row["event"] as EventKind,
    ts: row["ts"] as number,
    tenantId: row["tenant_id"] as string | null,
    jobId: row["job_id"] as string | null,
    ownerId: row["owner_id"] as string | null,
    jobSeq: row["job_seq"] as number | null,
    details: exactly(row["details"] as string) as Record<string, unknown>,
    origin: row["origin"] === null ? null : (exactly(row["origin"] as string) as LoggedEvent["origin"]),
  };
}

/**
 * The hash is over what the text means. A text that means the same in other words was not written by the hub, so it
 * must not pass for the original: it is taken as the plain text that it is.
 */
function exactly(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return JSON.stringify(value) === json ? value : { text: json };
  } catch {
    return { text: json };
  }
}
