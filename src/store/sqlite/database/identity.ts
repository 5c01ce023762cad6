import { randomUUID } from "node:crypto";
import { checkValueOf } from "../../../signing/mac.ts";
import { refuseMoved } from "../../database/database-copy.ts";
import { type DatabaseIdentity, isSealedBy, otherKeys } from "../../database/database-identity.ts";
import type { Context } from "../context.ts";
import type { Connection } from "./connection.ts";
import { getMove } from "./database-move.ts";

/**
 * Gives the database an id when it is opened for the first time. Throws if its documents are sealed with another key:
 * every job would then look forged; or if the database was moved elsewhere. Why: ADR 0030.
 */
export function openIdentity(sql: Connection, macKey: Buffer, path: string): void {
  refuseMoved(getMove(sql));
  const known = readIdentity(sql);
  if (known !== null) {
    if (!isSealedBy(macKey, known)) throw otherKeys(path);
    return;
  }
  const id = randomUUID();
  // Of two that open it at once, the first names it.
  sql.run(
    `INSERT INTO database_identity (id, key_check)
      SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM database_identity)`,
    id,
    checkValueOf(macKey, id),
  );
}

export function getDatabase({ sql, tallies }: Pick<Context, "sql" | "tallies">): {
  id: string;
  lastSeq: number;
} {
  return { id: readIdentity(sql)!.id, lastSeq: tallies.get("event_seq") };
}

/** Null if no hub has opened it yet. */
export function readIdentity(sql: Connection): DatabaseIdentity | null {
  return sql.first<DatabaseIdentity>("SELECT id, key_check FROM database_identity");
}
