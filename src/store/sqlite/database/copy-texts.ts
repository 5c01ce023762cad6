// The SQL that reads and writes each part of a database when it is copied. Why: ADR 0086.
import { logText } from "../../database/copy-log.ts";
import type { CopyPart, CopyRow } from "../../database/database-copy.ts";
import { columnOf } from "../../jobs/job-columns.ts";

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
    terms: "NULL",
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

/** How a part's row is written: into one table or several, each only if the row has something for it. */
type Insert = { text: string; columns: readonly string[]; isFor(row: CopyRow): boolean };

const ofJobs = "queue_id due_at ready is_key_chosen output_sizes output_bytes output_dropped_through".split(
  " ",
);
const jobInserts: Insert[] = [
  insert("jobs", [...Object.values(columnOf).filter((column) => column !== "terms"), ...ofJobs]),
  {
    text: "INSERT INTO documents (job_seq, document, mac) VALUES (?, ?, ?)",
    columns: ["seq", "document", "mac"],
    isFor: ({ document }) => document !== null,
  },
  {
    text: "INSERT INTO document_summaries (job_seq, summary) VALUES (?, ?)",
    columns: ["seq", "summary"],
    isFor: ({ summary }) => summary !== null,
  },
];

const eventColumns = "seq ts event tenant_id job_id owner_id job_seq details origin".split(" ");
const eventInserts: Insert[] = [
  { ...insert("events", eventColumns), isFor: ({ event }) => event !== null },
  { ...insert("audit_seals", ["seq", "severity", "hash"]), isFor: ({ hash }) => hash !== null },
];

export function insertTexts({ name, columns }: CopyPart): Insert[] {
  if (name === "jobs") return jobInserts;
  if (name === "events") return eventInserts;
  const { text } = insert(
    name,
    columns.map((column) => expressions[name]?.[column] ?? column),
  );
  return [{ text, columns, isFor: () => true }];
}

function insert(table: string, columns: readonly string[]): Insert {
  const marks = columns.map(() => "?").join(", ");
  return {
    text: `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
    columns,
    isFor: () => true,
  };
}
