import { lstatSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCode, isDiskFull, WritError } from "../core/errors.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { Connection } from "../store/sqlite/database/connection.ts";
import { isBusy, storeUnavailable } from "../store/sqlite/database/sqlite-error.ts";
import { findRegistryDir, type RegistryPlace } from "./registry-place.ts";

/** Long enough for many processes that write at the same time on a slow disk. */
const busyMsMax = 30_000;
const openTriesMax = 300;
const openPauseMs = 100;
const schemaVersion = 1;

/**
 * `number` is the order in which jobs were registered. `picked_at` and `active_at` are what the two time limits count
 * from. Events in `outbox` have not reached the broker yet.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    picked_at INTEGER,
    active_at INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    agent TEXT NOT NULL,
    agent_session TEXT NOT NULL,
    broker TEXT,
    topic_prefix TEXT NOT NULL,
    timeout_sec INTEGER NOT NULL,
    idle_timeout_sec INTEGER NOT NULL,
    expected_artifacts TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    auth_token TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS jobs_waiting ON jobs (agent_session, number) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS jobs_running ON jobs (number) WHERE status = 'running';
  CREATE TABLE IF NOT EXISTS outbox (
    job_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = ${schemaVersion};
`;

/** Adds to the registry in one transaction; it is made if there is none. Why: ADR 0049. */
export async function addToRegistry<T>(place: RegistryPlace, add: (sql: Connection) => T): Promise<T> {
  const dir = (await findRegistryDir(place, true))!;
  keepOutOfGit(dir);
  return withConnection(dir, place, (sql) => inTransaction(sql, () => add(sql)));
}

/** Changes the registry in one transaction, which no other process sees half of. `absent` answers if there is none. */
export function changeRegistry<T>(
  place: RegistryPlace,
  absent: () => T,
  change: (sql: Connection) => T,
): Promise<T> {
  return readRegistry(place, absent, (sql) => inTransaction(sql, () => change(sql)));
}

export async function readRegistry<T>(
  place: RegistryPlace,
  absent: () => T,
  read: (sql: Connection) => T,
): Promise<T> {
  const dir = await findRegistryDir(place, false);
  return dir === null || fileOf(dir) === null ? absent() : withConnection(dir, place, read);
}

async function withConnection<T>(dir: string, place: RegistryPlace, act: (sql: Connection) => T): Promise<T> {
  fileOf(dir);
  const sql = await open(join(dir, fileName), place);
  try {
    return act(sql);
  } catch (error) {
    throw isSqlite(error) ? unavailable(storeUnavailable(error).message, dir) : error;
  } finally {
    sql.close();
  }
}

/** Opening, and switching to the write-ahead log, can meet a process that closes; SQLite does not wait for that. */
async function open(path: string, { clock = systemClock }: RegistryPlace): Promise<Connection> {
  for (let tries = 1; ; tries++) {
    try {
      const sql = new Connection(path, busyMsMax);
      try {
        migrate(sql, path);
        return sql;
      } catch (error) {
        sql.close();
        throw error;
      }
    } catch (error) {
      if (!isBusy(error) || tries === openTriesMax)
        throw isSqlite(error) ? unavailable(storeUnavailable(error).message, dirname(path)) : error;
      await clock.sleep(openPauseMs);
    }
  }
}

function migrate(sql: Connection, path: string): void {
  const { user_version: found } = sql.first<{ user_version: number }>("PRAGMA user_version")!;
  if (found === schemaVersion) return;
  if (found > schemaVersion)
    throw new WritError("CONFIG_INVALID", `${path} was written by a newer version; use that one`);
  inTransaction(sql, () => sql.script(schema));
}

function inTransaction<T>(sql: Connection, act: () => T): T {
  sql.script("BEGIN IMMEDIATE");
  try {
    const outcome = act();
    sql.script("COMMIT");
    return outcome;
  } catch (error) {
    if (sql.inTransaction) sql.script("ROLLBACK");
    throw error;
  }
}

const fileName = "registry.sqlite";

/** The database of a registry, or null if there is none. A link in its place is refused. */
function fileOf(dir: string): string | null {
  const path = join(dir, fileName);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return null;
  if (status.isFile()) return path;
  throw new WritError("CONFIG_INVALID", `${path} is not a plain file; name another directory`);
}

/** Jobs and their history belong to one machine and one person, not into a repository. */
export function keepOutOfGit(dir: string): void {
  try {
    writeFileSync(join(dir, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (isDiskFull(error)) throw unavailable(`the disk of ${dir} is full; nothing was changed`, dir);
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

/** There is no hub here whose log could say more. */
function unavailable(message: string, dir: string): WritError {
  const advice = `look at the disk of ${dir} and try again, or name another directory with --registry-dir`;
  return new WritError("STORE_UNAVAILABLE", message, { advice });
}

function isSqlite(error: unknown): boolean {
  return error instanceof Error && "errcode" in error;
}
