import { createHash } from "node:crypto";
import { querySync } from "./query-sync.ts";

/** What a refusal may change: the event log, what the hub makes of events, and what belongs to connections. */
const notState = [
  "events",
  "audit_seals",
  "audit_marks",
  "log_readers",
  "outbox",
  "watched",
  "statistics",
  "hubs",
  "lanes",
  "leader",
  "schema_steps",
];

/** What counts events, what the hub notes of outputs when it likes, and versions. */
const notInRows: Record<string, string> = {
  log_state: "last,version,settings_version,output_bytes",
  job_outputs: "sizes,bytes",
};

type Seen = { at: string; hash: string };

const texts = new Map<string, string>();
const seen = new Map<string, Seen>();

/** One hash over every table but the event log: equal hashes, nothing has changed. */
export function postgresSnapshot(url: string): string {
  // Any transaction that writes or locks something takes a number, so the same ones as before have changed nothing.
  const at = String(querySync(url, "SELECT pg_current_snapshot()::text AS at").rows[0]!["at"]);
  const before = seen.get(url);
  if (before?.at === at) return before.hash;
  const text = texts.get(url) ?? hashText(url);
  texts.set(url, text);
  const hash = createHash("sha256")
    .update(JSON.stringify(querySync(url, text).rows))
    .digest("hex");
  seen.set(url, { at, hash });
  return hash;
}

/** A row of `job_outputs` comes with the first note, and says something only once output was dropped. */
function hashText(url: string): string {
  const tables = querySync(
    url,
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'writ'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname <> ALL ($1) ORDER BY 1`,
    [notState],
  ).rows.map(({ name }) => String(name));
  const parts = tables.map((name) => {
    const where = name === "job_outputs" ? " WHERE dropped_through > 0" : "";
    return `SELECT '${name}' AS name, md5(string_agg(row, ' ' ORDER BY row)) AS hash
      FROM (SELECT (to_jsonb(t) - '{${notInRows[name] ?? "event_count"}}'::text[])::text AS row FROM ${name} t${where}) AS rows`;
  });
  return parts.join(" UNION ALL ");
}
