import type { DatabaseCopy } from "../../store/database/database-copy.ts";
import type { DatabaseInUse } from "../../store/database/database-in-use.ts";
import { type HubSeat, onlySeat } from "../../store/database/hub-seat.ts";
import type { MigrationPlan } from "../../store/database/migration-plan.ts";
import type { SealCall, SealFindings } from "../../store/jobs/seal-check.ts";
import type { AuditReader } from "../../store/log/audit-reader.ts";
import { planMigration as planSqlite } from "../../store/sqlite/database/plan-migration.ts";
import {
  findBrokenSeals as findInSqlite,
  openAuditReader as openSqliteAudit,
} from "../../store/sqlite/forms/readers.ts";
import { openSqliteStore } from "../../store/sqlite/open-store.ts";
import type { Store } from "../../store/store.ts";
import { lockDatabase as lockFile } from "./database-lock.ts";
import type { DatabasePlace } from "./database-place.ts";

const readerProgram = new URL("./list-thread.ts", import.meta.url);

/** PostgreSQL's driver and its client are loaded only by a hub that uses them. Why: ADR 0080. */

export async function openStore(
  place: DatabasePlace,
  { macKey, term, inUse }: { macKey: Buffer; term?: () => number | null; inUse?: DatabaseInUse | undefined },
): Promise<Store> {
  if (place.kind === "file") {
    return openSqliteStore({ path: place.path, macKey, readerProgram });
  }
  const { openPostgresStore } = await import("../../store/postgres/open-store.ts");
  return openPostgresStore({ url: place.url, macKey, ...(term && { term }), ...(inUse && { inUse }) });
}

export async function openAuditReader(place: DatabasePlace): Promise<AuditReader> {
  if (place.kind === "file") return openSqliteAudit(place.path);
  const { openAuditReader: open } = await import("../../store/postgres/reads/audit-reader.ts");
  return open(place.url);
}

/** Checks the seal of every document and every kept receipt; returns at most `most` jobs whose seal does not match. */
export async function findBrokenSeals(place: DatabasePlace, call: SealCall): Promise<SealFindings> {
  if (place.kind === "file") return findInSqlite(place.path, call);
  const { findBrokenSeals: find } = await import("../../store/postgres/reads/seal-reader.ts");
  return find(place.url, call);
}

/** Opens a database to be copied as a whole, or to be filled. */
export async function openDatabaseCopy(
  place: DatabasePlace,
  options: { isTarget: boolean; macKey: Buffer },
): Promise<DatabaseCopy> {
  if (place.kind === "file") {
    const { openFileCopy } = await import("../../store/sqlite/copy/open-copy.ts");
    return openFileCopy(place.path, options);
  }
  const { openDatabaseCopy: open } = await import("../../store/postgres/database/copy-database.ts");
  return open(place.url, options);
}

/** Finds what the next start would change in the database. */
export async function planMigration(place: DatabasePlace): Promise<MigrationPlan> {
  if (place.kind === "file") return planSqlite(place.path);
  const { planMigration: plan } = await import("../../store/postgres/database/plan-migration.ts");
  return plan(place.url);
}

/** Locks the database against every hub until it is released. */
export async function lockDatabase(
  place: DatabasePlace,
  home: string,
): Promise<{ release(): void | Promise<void> }> {
  if (place.kind === "file") return lockFile(place.path, home);
  const { lockDatabase: lock } = await import("../../store/postgres/database/lock-database.ts");
  return lock(place.url);
}

/** Takes a seat among the hubs of the database. A file has room for one. */
export async function takeSeat(
  place: DatabasePlace,
  { home, inUse }: { home: string; inUse: DatabaseInUse },
): Promise<HubSeat> {
  if (place.kind === "file") {
    const lock = lockFile(place.path, home);
    return onlySeat(() => lock.release());
  }
  const { takeSeat: take } = await import("../../store/postgres/hubs/hub-seat.ts");
  return take(place.url, inUse);
}
