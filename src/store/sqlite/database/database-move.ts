// The mark of a database that is being moved, or was moved. Why: ADR 0086.
import type { DatabaseMove } from "../../database/database-copy.ts";
import type { Connection } from "./connection.ts";

export function getMove(sql: Connection): DatabaseMove | null {
  return sql.first<DatabaseMove>(
    `SELECT role, database_id AS databaseId, other, started_at AS startedAt, ended_at AS endedAt FROM database_move`,
  );
}

export function setMove(sql: Connection, move: DatabaseMove | null): void {
  if (move === null) {
    sql.run("DELETE FROM database_move");
    return;
  }
  const { role, databaseId, other, startedAt, endedAt } = move;
  sql.run(
    `INSERT OR REPLACE INTO database_move (one, role, database_id, other, started_at, ended_at)
      VALUES (1, ?, ?, ?, ?, ?)`,
    role,
    databaseId,
    other,
    startedAt,
    endedAt,
  );
}
