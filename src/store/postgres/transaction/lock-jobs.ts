import { readRecord } from "../../jobs/stored-record.ts";
import type { Connection } from "../connection/connection.ts";
import {
  dueAtIndex,
  type Place,
  places,
  readKept,
  recordColumns,
  recordFrom,
  stateOnlyColumns,
} from "../jobs/job-row.ts";
import { completeRow, type HeldJob } from "./held-jobs.ts";
import type { Transaction } from "./transaction.ts";
import type { KeptJob } from "./work.ts";

/** By the ids of their jobs. */
export type LockedJobs = Map<string, KeptJob>;

const lockText = Object.fromEntries(
  places.map((place) => [
    place,
    `SELECT ${recordColumns} FROM ${recordFrom(place)} WHERE j.id = ANY ($1) ORDER BY j.seq FOR UPDATE OF s`,
  ]),
) as Record<Place, string>;

const lockHeldText = `SELECT ${stateOnlyColumns} FROM active s WHERE s.seq = ANY ($1) ORDER BY s.seq FOR UPDATE`;

const otherPlaces = places.filter((place) => place !== "active");

/** A job moves while others are looked for; it is rarely missed twice. */
const looksMax = 5;

/**
 * Reads these jobs and keeps others from changing them until the transaction ends. Nearly all that changes is held by a
 * worker, so that place is looked at first. Those that are not found do not exist. Why: ADR 0080, ADR 0091.
 */
export async function lockJobs(
  { sql, shared: { held } }: Pick<Transaction, "sql" | "shared">,
  ids: readonly string[],
): Promise<LockedJobs> {
  const found: LockedJobs = new Map();
  let missing = [...new Set(ids)];
  for (let look = 1; look <= looksMax && missing.length > 0; look++) {
    // What is held may be another job of that id, which is gone. The second look is by the ids.
    const known = look === 1 ? held.find(missing) : null;
    if (known === null) await lockAt(sql, "active", missing, found);
    else await lockHeld(sql, known, found);
    missing = missing.filter((id) => !found.has(id));
    if (missing.length === 0) break;
    const wanted = missing;
    await Promise.all(sql.together(() => otherPlaces.map((place) => lockAt(sql, place, wanted, found))));
    missing = await existing(
      sql,
      missing.filter((id) => !found.has(id)),
    );
  }
  return found;
}

/** Of jobs that this store has leased, only the states are read. */
async function lockHeld(sql: Connection, known: Map<number, HeldJob>, found: LockedJobs): Promise<void> {
  for (const row of await sql.rows(lockHeldText, [...known.keys()])) {
    const one = known.get(row[0] as number)!;
    const job = readRecord(completeRow(row, one), one.queueKey);
    found.set(job.id, {
      job,
      place: "active",
      queueId: one.queueId,
      dueAt: row[dueAtIndex] as number | null,
    });
  }
}

async function lockAt(sql: Connection, place: Place, ids: string[], found: LockedJobs): Promise<void> {
  for (const row of await sql.rows(lockText[place], ids)) {
    const kept = readKept(row, place);
    found.set(kept.job.id, kept);
  }
}

async function existing(sql: Connection, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await sql.all<{ id: string }>("SELECT id FROM jobs WHERE id = ANY ($1)", ids);
  return rows.map(({ id }) => id);
}
