import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Connection as PostgresConnection } from "../../src/store/postgres/connection/connection.ts";
import { migrate as migratePostgres } from "../../src/store/postgres/database/migrate.ts";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { migrate } from "../../src/store/sqlite/database/migrate.ts";
import { findPostgres, noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { loadDump } from "./load-dump.ts";
import { openOldHome } from "./old-home.ts";

/** Everything that SQLite knows of a database after its migration, without comments and line breaks. */
function sqliteSchema(path: string): unknown {
  const sql = new Connection(path, 5_000);
  try {
    migrate(sql, () => {});
    const rows = sql.all<{ type: string; name: string; sql: string | null }>(
      "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_stat%' ESCAPE '!' ORDER BY type, name",
    );
    const indexes = rows
      .filter(({ type }) => type === "table")
      .map(({ name }) =>
        sql.all("SELECT ? AS of, name, seq, origin, partial FROM pragma_index_list(?)", name, name),
      );
    return { rows: rows.map((row) => ({ ...row, sql: row.sql === null ? null : bare(row.sql) })), indexes };
  } finally {
    sql.close();
  }
}

function bare(sql: string): string {
  return sql
    .replace(/--.*$/gm, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([(),]) ?/g, "$1");
}

test("a SQLite database of the first schema of frames ends with the schema of a new one", () => {
  const old = openOldHome(1_000, "homes");
  onTestFinished(() => old.remove());
  expect(sqliteSchema(join(old.home, "writ.sqlite"))).toEqual(sqliteSchema(join(old.home, "new.sqlite")));
});

describe.skipIf(noPostgres !== undefined)(`on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
  });
  afterAll(() => cluster.stop());

  async function postgresSchema(url: string): Promise<string> {
    const connection = await PostgresConnection.open({ url });
    await migratePostgres(connection);
    await connection.close();
    const program = join(dirname(findPostgres()!), "pg_dump");
    const flags = ["--schema-only", "--schema=writ", "--no-owner", "--no-privileges"];
    const text = execFileSync(program, [...flags, url], { encoding: "utf8" });
    return text.replace(/^\\(?:un)?restrict .*\n/gm, "");
  }

  test("a PostgreSQL database of version 0.1.0 ends with the schema of a new one, and with one `finish_group`", async () => {
    const old = openOldHome(7, "postgres");
    onTestFinished(() => old.remove());
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE fresh"));
    const fresh = await postgresSchema(cluster.url("fresh"));
    expect(await postgresSchema(await loadDump(cluster, old.dump, "upgraded"))).toBe(fresh);
    expect(fresh.match(/^CREATE FUNCTION writ\.finish_group\(/gm)).toHaveLength(1);
  });
});
