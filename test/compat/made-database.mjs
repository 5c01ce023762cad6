import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";

// The database of a home that is being made: what its hub is told of it, its schema, and what has to be kept beside the home.

export async function sqliteFile(home) {
  const path = join(home, "writ.sqlite");
  const schema = async () => new DatabaseSync(path).prepare("PRAGMA user_version").get().user_version;
  return { folder: "homes", env: {}, schema, async save() {}, async close() {} };
}

/** In a server of its own, which is gone afterwards; a dump of it is kept. */
export async function postgresServer() {
  const cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
  const url = cluster.url("postgres");
  return {
    folder: "postgres",
    env: { WRIT_DATABASE_URL: url },
    async schema() {
      let version = 0;
      await withClient(url, async (client) => {
        const { rows } = await client.query("SELECT max(version) AS version FROM writ.schema_steps");
        version = rows[0].version;
      });
      return version;
    },
    save: async (dir) => writeFileSync(join(dir, "writ.sql"), dump(url)),
    close: () => cluster.stop(),
  };
}

/** Statements that any client can send and every supported server takes: what newer programs add to a dump is left out. */
function dump(url) {
  const flags = ["--schema=writ", "--no-owner", "--no-privileges", "--rows-per-insert=100"];
  const text = execFileSync(join(dirname(findPostgres()), "pg_dump"), [...flags, url], { encoding: "utf8" });
  return text.replace(/^(?:\\(?:un)?restrict |SET transaction_timeout ).*\n/gm, "");
}
