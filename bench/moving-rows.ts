import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { Connection } from "../src/store/sqlite/database/connection.ts";
import { migrate } from "../src/store/sqlite/database/migrate.ts";
import { figure, median } from "./_figures.ts";

/**
 * What SQLite computes to insert, claim and end a job: as one row that changes, as in our schema, and as rows that move from
 * table to table, as on PostgreSQL. Commits are not counted. Usage: npm run bench -- moving-rows [jobs] Why: ADR 0081.
 */
const jobs = Number(process.argv[2] ?? 30_000);
const groupJobs = 100;
const rounds = 5;
const hash = "ab".repeat(32);
const atMs = 1_763_350_000_000;
const idOf = (seq: number) => `0199aaaa-bbbb-7ccc-8ddd-${String(seq).padStart(12, "0")}`;

type Step = (seq: number) => void;
type Steps = Record<"insert" | "claim" | "end", Step>;
type Rival = { name: string; open(sql: Connection): Steps };

const oneRow: Rival = {
  name: "one row",
  open(sql) {
    migrate(sql, () => {});
    const insert =
      sql.statement(`INSERT INTO jobs (seq, id, queue_id, tenant_id, user_id, type, priority, document_sha256,
      idempotency_key, is_key_chosen, request_hash, max_attempts, attempts_chosen, timeout_sec, document_timeout_sec,
      created_at, run_at, ready, status, attempt, attempts, releases, retry_counts, fail_history, event_count)
      VALUES (?, ?, 1, ?, ?, ?, 0, ?, ?, 0, ?, 3, 0, 60, 60, ?, ?, 1, 'pending', 0, 0, 0, '{}', '[]', 1)`);
    const claim =
      sql.statement(`UPDATE jobs SET due_at = ?, ready = NULL, status = 'claimed', attempt = ?, attempts = ?,
      claimed_at = ?, heartbeat_at = ?, worker_id = ?, lease_token_hash = ?, lease_expires_at = ?, event_count = ?,
      lease_key_id = ? WHERE seq = ? AND attempt = ? AND status = ? AND lease_token_hash IS ?`);
    const end =
      sql.statement(`UPDATE jobs SET due_at = NULL, status = 'completed', started_at = ?, completed_at = ?,
      lease_token_hash = NULL, lease_expires_at = NULL, event_count = ?, receipt = ?, result = ?, result_hash = ?
      WHERE seq = ? AND attempt = ? AND status = ? AND lease_token_hash IS ?`);
    return {
      insert: (seq) =>
        run(insert, seq, idOf(seq), "default", "ada", "noop", hash, idOf(seq), hash, atMs, atMs),
      claim: (seq) =>
        run(claim, atMs + seq, 1, 1, atMs, atMs, "w", hash, atMs, 2, "key", seq, 0, "pending", null),
      end: (seq) => run(end, atMs, atMs + seq, 4, "r".repeat(300), "null", hash, seq, 1, "claimed", hash),
    };
  },
};

const movingRows: Rival = {
  name: "rows that move",
  open(sql) {
    sql.script(movingSchema);
    const insert = sql.statement(
      "INSERT INTO jobs VALUES (?, ?, 1, ?, ?, ?, 0, ?, ?, ?, 3, 60, 60, NULL, ?, 0, 0, NULL)",
    );
    const wait = sql.statement("INSERT INTO ready VALUES (1, 0, ?, 0, 0, 0, 1, ?, '{}', '[]')");
    const take = sql.statement("DELETE FROM ready WHERE queue_id = 1 AND rank = 0 AND seq = ?");
    const start = sql.statement(
      "INSERT INTO active VALUES (?, ?, 'claimed', ?, ?, 0, ?, ?, NULL, ?, ?, ?, ?, ?, NULL, '{}', '[]')",
    );
    const leave = sql.statement(
      "DELETE FROM active WHERE seq = ? AND attempt = ? AND status = ? AND lease_token_hash = ?",
    );
    const end = sql.statement(
      "INSERT INTO ended VALUES (?, 'completed', ?, ?, 0, ?, ?, ?, ?, ?, 0, NULL, NULL, NULL, ?, ?, ?, '{}', '[]')",
    );
    return {
      insert: (seq) => {
        run(insert, seq, idOf(seq), "default", "ada", "noop", hash, idOf(seq), hash, atMs);
        run(wait, seq, atMs);
      },
      claim: (seq) => {
        run(take, seq);
        run(start, seq, atMs + seq, 1, 1, 2, atMs, atMs, "w", hash, atMs, "key");
      },
      end: (seq) => {
        run(leave, seq, 1, "claimed", hash);
        run(end, seq, 1, 1, 4, atMs, atMs, atMs + seq, "w", "r".repeat(300), hash, "null");
      },
    };
  },
};

const movingSchema = `
  CREATE TABLE jobs (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, queue_id INTEGER, tenant_id TEXT, user_id TEXT,
    type TEXT, priority INTEGER, document_sha256 TEXT, idempotency_key TEXT, request_hash TEXT, max_attempts INTEGER,
    timeout_sec INTEGER, document_timeout_sec INTEGER, queue_ttl_sec INTEGER, created_at INTEGER, is_key_chosen INTEGER,
    attempts_chosen INTEGER, limits_defaulted TEXT) STRICT;
  CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, seq);
  CREATE INDEX jobs_by_id_end ON jobs (seq >> 7, substr(id, -6));
  CREATE TABLE ready (queue_id INTEGER, rank INTEGER, seq INTEGER, attempt INTEGER, attempts INTEGER, releases INTEGER,
    event_count INTEGER, run_at INTEGER, retry_counts TEXT, fail_history TEXT, PRIMARY KEY (queue_id, rank, seq))
    STRICT, WITHOUT ROWID;
  CREATE TABLE active (seq INTEGER PRIMARY KEY, due_at INTEGER, status TEXT, attempt INTEGER, attempts INTEGER,
    releases INTEGER, event_count INTEGER, claimed_at INTEGER, started_at INTEGER, heartbeat_at INTEGER, worker_id TEXT,
    lease_token_hash TEXT, lease_expires_at INTEGER, lease_key_id TEXT, progress TEXT, retry_counts TEXT,
    fail_history TEXT) STRICT;
  CREATE TABLE ended (seq INTEGER PRIMARY KEY, status TEXT, attempt INTEGER, attempts INTEGER, releases INTEGER,
    event_count INTEGER, claimed_at INTEGER, started_at INTEGER, completed_at INTEGER, worker_id TEXT, exit_code INTEGER,
    isolation TEXT, usage TEXT, output_files TEXT, receipt TEXT, result_hash TEXT, result TEXT, retry_counts TEXT,
    fail_history TEXT) STRICT;
  CREATE INDEX jobs_ended ON ended (completed_at);`;

const rivals = [oneRow, movingRows];
const costs = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) for (const rival of rivals) measure(rival);
for (const [name, values] of costs) {
  const spread = [Math.min(...values), Math.max(...values)];
  figure(name, median(values), "µs of CPU time a job", { rounds, spread });
}

function measure({ name, open }: Rival): void {
  const folder = mkdtempSync(join(tmpdir(), "writ-bench-rows-"));
  const sql = new Connection(join(folder, "rows.sqlite"), 1_000);
  try {
    for (const [step, act] of Object.entries(open(sql))) {
      const key = `${step}, ${name}`;
      costs.set(key, [...(costs.get(key) ?? []), costOf(sql, act)]);
    }
  } finally {
    sql.close();
    rmSync(folder, { recursive: true });
  }
}

function costOf(sql: Connection, act: Step): number {
  let us = 0;
  for (let first = 1; first <= jobs; first += groupJobs) {
    sql.run("BEGIN IMMEDIATE");
    const before = process.cpuUsage();
    for (let seq = first; seq < first + groupJobs; seq++) act(seq);
    const { user, system } = process.cpuUsage(before);
    us += user + system;
    sql.run("COMMIT");
  }
  return us / jobs;
}

function run(statement: StatementSync, ...values: SQLInputValue[]): void {
  if (statement.run(...values).changes !== 1) throw new Error("a row was not where it should be");
}
