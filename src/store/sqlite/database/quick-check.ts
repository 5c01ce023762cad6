import { DatabaseSync } from "node:sqlite";

/** More lines say no more about a damaged file. */
const problemsMax = 20;

/**
 * A process of its own, started by check-database.ts: SQLite cannot interrupt a check, but a process can be killed.
 * Why: ADR 0029.
 */
process.once("message", (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const rows = database.prepare(`PRAGMA quick_check(${problemsMax})`).all();
  const problems = rows.map((row) => String(row["quick_check"])).filter((line) => line !== "ok");
  process.send!(problems, () => process.disconnect!());
});
