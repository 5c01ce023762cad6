// The log and its chain as one part of a copy, where a driver keeps them in two tables. Why: ADR 0086.
import type { CopyPart } from "./database-copy.ts";

const ofSeals = new Set(["severity", "hash"]);
const sealsAlone = "audit_seals AS s WHERE NOT EXISTS (SELECT 1 FROM events WHERE events.seq = s.seq)";

/** Records with their seals, and seals of which the record is gone, in order. Both halves are in order, so they are only merged. */
export function logText({ columns }: CopyPart, after: string): string {
  const both = columns.map((column) => `${ofSeals.has(column) ? "s" : "e"}.${column}`);
  const alone = columns.map((column) => (column === "seq" || ofSeals.has(column) ? `s.${column}` : "NULL"));
  return `SELECT ${both.join(", ")}
      FROM events AS e LEFT JOIN audit_seals AS s ON s.seq = e.seq WHERE e.seq > ${after}
    UNION ALL SELECT ${alone.join(", ")} FROM ${sealsAlone} AND s.seq > ${after}
    ORDER BY seq`;
}

export function countText({ name }: CopyPart): string {
  if (name !== "events") return `SELECT count(*) AS count FROM ${name}`;
  return `SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM ${sealsAlone}) AS count`;
}
