// The mark of a database that is being moved, or was moved. Why: ADR 0086.
import type { DatabaseMove } from "../../database/database-copy.ts";
import type { Connection } from "../connection/connection.ts";

export function getMove(sql: Connection): Promise<DatabaseMove | null> {
  return sql.first<DatabaseMove>(
    `SELECT role, database_id AS "databaseId", other, started_at AS "startedAt", ended_at AS "endedAt"
      FROM database_move`,
  );
}

export async function setMove(sql: Connection, move: DatabaseMove | null): Promise<void> {
  if (move === null) {
    await sql.run("DELETE FROM database_move");
    return;
  }
  const { role, databaseId, other, startedAt, endedAt } = move;
  await sql.run(
    `INSERT INTO database_move (role, database_id, other, started_at, ended_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (one) DO UPDATE SET role = excluded.role, database_id = excluded.database_id,
        other = excluded.other, started_at = excluded.started_at, ended_at = excluded.ended_at`,
    role,
    databaseId,
    other,
    startedAt,
    endedAt,
  );
}
