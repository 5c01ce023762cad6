import { hasCode, WritError } from "../../core/errors.ts";
import { hasMacKey, readMacKey } from "../../signing/key-files.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import type { AuditMark } from "../../store/audit-store.ts";
import { describeMove } from "../../store/database/database-copy.ts";
import { isSealedBy, noKeys, otherKeys } from "../../store/database/database-identity.ts";
import type { MigrationPlan } from "../../store/database/migration-plan.ts";
import { firstHash } from "../../store/log/audit-record.ts";
import { isMarkValid, newestMark, readMarks, signMark } from "../audit/audit-marks.ts";
import { saveMark } from "../audit/sealer.ts";
import { revive } from "../backup/revive.ts";
import type { HubDeps } from "../deps.ts";
import { type DatabasePlace, nameOf } from "./database-place.ts";
import { readKnownDatabase, writeKnownDatabase } from "./known-database.ts";
import { isFileMissing, missingAddress } from "./missing-database.ts";
import { openAuditReader, planMigration } from "./open-database.ts";

/** The home's knowledge of its database. */
type History = { databaseId: string | null; lastSeq: number; head: AuditMark | null };

type HubPaths = { home: string; database: DatabasePlace; keysDir: string };

/** The number of the last record that a person accepts as the end of the log; null for no loss. */
type Acceptance = { acceptLoss: number | null };

/**
 * Reads the home's knowledge before the database is opened, because opening creates a missing one. Throws if the hub
 * would begin with an empty database although the home knows one. Why: ADR 0030.
 */
export async function readHistory(paths: HubPaths, { acceptLoss }: Acceptance): Promise<History> {
  const known = await readKnownDatabase(paths.home);
  const head = await newestHead(paths);
  const lastSeq = Math.max(known?.last_seq ?? 0, head?.seq ?? 0);
  const absence = lastSeq > 0 && acceptLoss !== 0 ? await absenceOf(paths.database) : null;
  if (absence !== null) throw rolledBack(`${absence}, but the home knows one`, { known: lastSeq, found: 0 });
  return { databaseId: known?.database_id ?? null, lastSeq, head };
}

async function absenceOf(database: DatabasePlace): Promise<string | null> {
  if (database.kind === "file")
    return isFileMissing(database) ? `there is no database at ${nameOf(database)} (${missingAddress})` : null;
  const { schema } = await planMigration(database);
  return schema === null
    ? `the database ${nameOf(database)} is empty (\`writ migrate --to postgres:\` moves the home's own there)`
    : null;
}

async function newestHead({ home, keysDir }: HubPaths): Promise<AuditMark | null> {
  const { marks } = await readMarks(home);
  if (marks.length === 0) return null;
  const keys = readVerifyingKeys(keysDir);
  return newestMark(
    marks.filter((mark) => isMarkValid(mark, keys)),
    "head",
  );
}

/**
 * Compares the database with the home's knowledge. A database that is older, another one, or one with a different
 * history is refused until a person accepts the loss.
 */
export async function checkHistory(
  deps: HubDeps,
  history: History,
  { acceptLoss, database }: Acceptance & { database: DatabasePlace },
): Promise<void> {
  const found = await deps.store.getDatabase();
  const problem = await differenceOf(deps, history, found);
  if (problem !== null) {
    if (acceptLoss !== null) refuseBesideOthers(deps, problem);
    if (acceptLoss !== found.lastSeq) {
      throw rolledBack(`the database ${nameOf(database)} ${problem}`, {
        known: history.lastSeq,
        found: found.lastSeq,
      });
    }
    await accept(deps, history, found);
  }
  const { id, lastSeq } = await deps.store.getDatabase();
  await writeKnownDatabase(deps.home, { database_id: id, last_seq: lastSeq });
}

/**
 * Accepting a loss takes back every running job, as after a restore; the jobs of a hub that serves now are not lost.
 */
function refuseBesideOthers({ leadership }: HubDeps, problem: string): void {
  const [other] = leadership.hubs;
  if (other === undefined) return;
  throw new WritError(
    "STORE_ROLLED_BACK",
    `the database ${problem}, but the hub at ${other.url} serves it, and its jobs would be taken back; begin with a new home, or stop all hubs before you accept a loss`,
  );
}

async function differenceOf(
  { store }: HubDeps,
  { databaseId, lastSeq, head }: History,
  found: { id: string; lastSeq: number },
): Promise<string | null> {
  if (found.lastSeq < lastSeq) return "has lost its newest part";
  if (databaseId !== null && databaseId !== found.id) return "is not the one that this home used";
  if (head === null) return null;
  const [record] = await store.readSealed({ afterSeq: head.seq - 1, limit: 1 });
  // Older records may have moved into files.
  const isOther = record !== undefined && record.seq === head.seq && record.hash !== head.hash;
  return isOther ? `is not the one that this home used: record ${head.seq} is another one` : null;
}

/**
 * The log continues after the last number that was ever used, and the chain after the last remaining record. Jobs that
 * ran since then are unknown, as after a restore.
 */
async function accept(deps: HubDeps, history: History, found: { lastSeq: number }): Promise<void> {
  const { store, keys, clock, home, logger } = deps;
  const throughSeq = Math.max(found.lastSeq, history.lastSeq);
  const hash = await sealAll(deps);
  await saveMark(
    { store, home },
    signMark(keys.signing, { audit: "start", seq: throughSeq + 1, hash, ts: clock.nowMs() }),
  );
  await store.skipEvents({ throughSeq, hash });
  const lost = { known_seq: history.lastSeq, found_seq: found.lastSeq };
  await revive(deps, { event: "STORE_ROLLED_BACK", origin: null, details: lost });
  logger.error(lost, "a person has accepted that records of the database are lost");
}

/** The hash of the last record. Each turn seals some, so this ends. */
async function sealAll({ store }: HubDeps): Promise<string> {
  for (;;) {
    const { head, more } = await store.sealEvents({ limit: 1_000 });
    if (!more) return head?.hash ?? firstHash;
  }
}

/** Throws if the database belongs to a hub with other keys than those of the home. */
export function refuseOtherKeys(
  { database, keysDir }: Pick<HubPaths, "database" | "keysDir">,
  { identity }: MigrationPlan,
): void {
  if (identity === null) return;
  const path = database.kind === "file" ? database.path : null;
  // A hub without keys would create new ones.
  if (!hasMacKey(keysDir)) throw noKeys(path, keysDir);
  if (!isSealedBy(readMacKey(keysDir), identity)) throw otherKeys(path);
}

/**
 * Why a hub would refuse the database of a home, or null: it was moved, has other keys, or ends before what the home
 * knows. It changes nothing; the start itself checks more.
 */
export async function findRefusal(paths: HubPaths, plan: MigrationPlan): Promise<string | null> {
  const { home, database } = paths;
  const { schema, newest, move } = plan;
  if (move !== null) return describeMove(move);
  try {
    refuseOtherKeys(paths, plan);
  } catch (error) {
    if (hasCode(error, "KEY_REJECTED")) return (error as WritError).message;
    throw error;
  }
  const known = await readKnownDatabase(home);
  if (known === null || schema !== newest) return null;
  const reader = await openAuditReader(database);
  try {
    const lastSeq = await reader.lastSeq();
    if (lastSeq >= known.last_seq) return null;
    return rolledBack("this database has lost its newest part", { known: known.last_seq, found: lastSeq })
      .message;
  } finally {
    await reader.close();
  }
}

function rolledBack(problem: string, { known, found }: { known: number; found: number }): WritError {
  return new WritError(
    "STORE_ROLLED_BACK",
    `${problem}: it ends at record ${found}, and the home knows record ${known}; put the right one back, restore a backup, or accept the loss once with --accept-loss ${found}`,
  );
}
