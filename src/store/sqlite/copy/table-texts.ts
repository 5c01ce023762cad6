// The SQL that reads and writes each part of a database when it is copied. Why: ADR 0086.
import { logText } from "../../database/copy-log.ts";
import type { CopyPart } from "../../database/database-copy.ts";

const jobsFrom = `jobs LEFT JOIN documents ON documents.job_seq = jobs.seq
  LEFT JOIN document_summaries ON document_summaries.job_seq = jobs.seq`;

/** Columns of a part that have another name here, or none. */
const expressions: Record<string, Record<string, string>> = {
  // Which of a worker's tokens is the newest is decided by this.
  tokens: { number: "rowid" },
  jobs: {
    place: `CASE WHEN ready = 1 THEN 'ready' WHEN ready = 0 THEN 'delayed'
      WHEN status IN ('assigned', 'running') THEN 'active' ELSE 'ended' END`,
    document: "documents.document",
    mac: "documents.mac",
    summary: "document_summaries.summary",
  },
};

/** What a column says in a database that does not have it yet. */
const absent: Record<string, string> = { refused_claims: "0" };

/** `has` is asked for the columns of a table that later versions have added to. */
export function selectText(
  part: CopyPart,
  isContinued: boolean,
  has: (column: string) => boolean = () => true,
): string {
  const { name, columns, key } = part;
  if (name === "events") return logText(part, isContinued ? "?1" : "0");
  const own = expressions[name] ?? {};
  const expression = (column: string): string =>
    own[column] ?? (has(column) ? `${name}.${column}` : (absent[column] ?? "NULL"));
  const place = key.map(expression).join(", ");
  const selected = columns.map((column) => `${expression(column)} AS ${column}`).join(", ");
  const condition = isContinued ? `WHERE (${place}) > (${key.map(() => "?").join(", ")})` : "";
  return `SELECT ${selected} FROM ${name === "jobs" ? jobsFrom : name} ${condition} ORDER BY ${place}`;
}

/** The statement that writes a row of a table, and the columns whose values it takes. */
export function insertText({ name, columns }: CopyPart): string {
  const own = columns.map((column) => expressions[name]?.[column] ?? column);
  return `INSERT INTO ${name} (${own.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}
