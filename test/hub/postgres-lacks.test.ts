import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { completedJob, jobReader, submitJob } from "../support/jobs.ts";
import { noPgBouncer, PgBouncer } from "../support/pgbouncer.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";

const password = "s3cret-and-right";

describe.skipIf(noPostgres !== undefined)(
  `a server that lacks something${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      const rules = [
        "host all careful 127.0.0.1/32 scram-sha-256",
        "host all old_way 127.0.0.1/32 md5",
        "host all nobody_here 127.0.0.1/32 reject",
      ];
      cluster = await PostgresCluster.start({ settings: ["fsync=off"], rules });
      await sql(
        "postgres",
        `CREATE ROLE careful LOGIN PASSWORD '${password}'`,
        "CREATE ROLE weak LOGIN",
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'",
        "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII'",
        "CREATE DATABASE plain",
        "CREATE DATABASE old",
        "CREATE DATABASE later",
        "CREATE DATABASE pooled",
        "CREATE DATABASE sessions",
        "CREATE DATABASE fresh",
        "CREATE DATABASE future",
        "SET password_encryption = md5",
        "CREATE ROLE old_way LOGIN PASSWORD 'old'",
        "CREATE ROLE nobody_here LOGIN",
      );
    });
    afterAll(() => cluster.stop());

    /** A schema of a version that this program does not know. */
    const makeFuture = () =>
      sql(
        "future",
        "CREATE SCHEMA writ",
        "CREATE TABLE writ.schema_steps (version integer PRIMARY KEY, name text NOT NULL)",
        "INSERT INTO writ.schema_steps VALUES (99, 'later')",
      );

    async function sql(database: string, ...statements: string[]): Promise<void> {
      await withClient(cluster.url(database), async (client) => {
        for (const statement of statements) await client.query(statement);
      });
    }

    const as = (user: string, database: string) => cluster.url(database).replace("bench@", `${user}@`);

    async function start(url: string, home = folder()): Promise<TestHub> {
      const hub = await startTestHub({ ...stillEnv, WRIT_DATABASE_URL: url }, { home });
      onTestFinished(() => hub.stop({ keepHome: true }));
      return hub;
    }

    /** The one line with which a hub refuses to start. It holds no password. */
    async function refusal(url: string, home?: string): Promise<string> {
      const error = await start(url, home).then(
        () => new Error("the hub has started"),
        (thrown: Error) => thrown,
      );
      expect(error, JSON.stringify(error)).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(JSON.stringify([error.message, { ...error }])).not.toContain("s3cret");
      expect(error.message).not.toContain("\n");
      return error.message;
    }

    test("another encoding than UTF8 is refused", async () => {
      expect(await refusal(cluster.url("latin"))).toContain(
        "the database has the encoding LATIN1; create one with ENCODING 'UTF8'",
      );
      expect(await refusal(cluster.url("ascii"))).toContain("the database has the encoding SQL_ASCII");
    });

    test("a user who may not create a schema, or may not use it, is refused", async () => {
      expect(await refusal(as("weak", "plain"))).toContain("the user may not create a schema");
      await (await start(cluster.url("plain"))).stop({ keepHome: true });
      expect(await refusal(as("weak", "plain"))).toContain("may not do this in the database");
    });

    test("a wrong password is refused, and the right one is not shown to anybody", async () => {
      const wrong = as("careful:s3cret-and-wrong", "plain");
      expect(await refusal(wrong)).toBe(
        "PostgreSQL refuses the user or the password in WRIT_DATABASE_URL or WRIT_DATABASE_PASSWORD_FILE",
      );
      expect(await refusal(as(`careful:${password}`, "plain"))).toContain("may not do this in the database");
    });

    test("a missing password is named, with the two ways to give one", async () => {
      const words =
        "the PostgreSQL server asks for a password, and WRIT_DATABASE_URL has none; write postgres://user:password@";
      for (const user of ["careful", "old_way"]) expect(await refusal(as(user, "plain"))).toContain(words);
      expect(await refusal(as("nobody_here", "plain"))).toContain("add a line to pg_hba.conf");
      expect(await refusal(`${cluster.url("plain")}?sslmode=require`)).toContain("does not offer TLS");
    });

    test("a refusal that stays does not ask for another try", async () => {
      const home = folder();
      await makeFuture();
      for (const url of [
        cluster.url("latin"),
        cluster.url("nobody"),
        as("weak", "fresh"),
        as("careful", "plain"),
        as("careful:s3cret-and-wrong", "plain"),
        cluster.url("future"),
      ]) {
        const args = ["hub", "--home", home, "--port", "0", "--grpc-port", "0"];
        const { code, stderr } = await runCli("writ", args, { env: { WRIT_DATABASE_URL: url } });
        expect([code, stderr]).toEqual([1, expect.not.stringMatching(/try again|hub\.log|s3cret/)]);
      }
    });

    // The server here is a new one, so it has to say something that is not true. Our schema comes first when a name is
    // looked up, and so does a function in it.
    test("a server that says it is PostgreSQL 14 is refused", async () => {
      await sql(
        "old",
        "CREATE SCHEMA writ",
        `CREATE FUNCTION writ.current_setting(name text) RETURNS text LANGUAGE sql
        RETURN CASE name WHEN 'server_version_num' THEN '140012' ELSE pg_catalog.current_setting(name) END`,
      );
      expect(await refusal(cluster.url("old"))).toContain(
        "the server is PostgreSQL 14; the hub needs 15 or newer",
      );
    });

    test("a newer schema is refused, and the database stays unchanged", async () => {
      const home = folder();
      const hub = await start(cluster.url("later"), home);
      const { id } = await submitJob(hub);
      await hub.stop({ keepHome: true });
      await sql("later", "INSERT INTO writ.schema_steps (version, name) VALUES (99, 'later')");
      expect(await refusal(cluster.url("later"), home)).toContain("the database has schema 99");
      await sql("later", "DELETE FROM writ.schema_steps WHERE version = 99");
      const again = await start(cluster.url("later"), home);
      expect((await jobReader(again)(id)).status).toBe("pending");
    });

    /** What a command writes about its failure. */
    async function command(env: Record<string, string>, home: string, ...words: string[]): Promise<string> {
      return (await runCli("writ", [...words, "--home", home], { env })).stderr;
    }

    describe.skipIf(noPgBouncer !== undefined)(
      `behind PgBouncer${noPgBouncer ? `: ${noPgBouncer}` : ""}`,
      () => {
        test("a pool for transactions is refused, and leaves nothing behind that keeps a hub away", async () => {
          const bouncer = await PgBouncer.start(cluster, "transaction");
          onTestFinished(() => bouncer.stop());
          const pooled = "PgBouncer with pool_mode = transaction); use the address of PostgreSQL itself";
          expect(await refusal(bouncer.url("pooled"))).toContain(pooled);
          const hub = await start(cluster.url("pooled"));
          const env = { WRIT_DATABASE_URL: bouncer.url("pooled") };
          for (const words of [["upgrade-check"], ["audit", "verify"], ["audit", "verify", "--seals"]])
            expect(await command(env, hub.home, ...words)).toContain(pooled);
          expect(await refusal(bouncer.url("pooled"))).toContain(pooled);
          await completedJob(hub);
          await hub.stop({ keepHome: true });
          const target = `sqlite:${join(folder(), "moved.sqlite")}`;
          expect(await command(env, hub.home, "migrate", "--from", "postgres:", "--to", target)).toContain(
            pooled,
          );
        });

        test("a pool for sessions is as good as the server", async () => {
          const bouncer = await PgBouncer.start(cluster, "session");
          onTestFinished(() => bouncer.stop());
          await completedJob(await start(bouncer.url("sessions")));
        });
      },
    );
  },
);

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-postgres-lacks-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
