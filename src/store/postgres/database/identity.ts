import { randomUUID } from "node:crypto";
import { checkValueOf } from "../../../signing/mac.ts";
import { refuseMoved } from "../../database/database-copy.ts";
import { type DatabaseIdentity, isSealedBy, otherKeys } from "../../database/database-identity.ts";
import type { Connection } from "../connection/connection.ts";
import { getMove } from "./database-move.ts";

/**
 * Gives the database an id when it is opened for the first time. Throws if its documents are sealed with another key:
 * every job would then look forged; or if the database was moved elsewhere. Why: ADR 0030.
 */
export async function openIdentity(sql: Connection, macKey: Buffer): Promise<void> {
  refuseMoved(await getMove(sql));
  const id = randomUUID();
  // Of two that open it at once, the first names it.
  await sql.run(
    "INSERT INTO database_identity (id, key_check) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    id,
    checkValueOf(macKey, id),
  );
  if (!isSealedBy(macKey, (await readIdentity(sql))!)) throw otherKeys(null);
}

/** Null if no hub has opened it yet. */
export function readIdentity(sql: Connection): Promise<DatabaseIdentity | null> {
  return sql.first<DatabaseIdentity>("SELECT id, key_check FROM database_identity");
}
