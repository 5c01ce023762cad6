import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { planUpgrade, verifyAudit } from "../../src/hub/admin.ts";
import { newestSchema } from "../../src/store/database/schema-steps.ts";
import { schemaSteps } from "../../src/store/postgres/database/migrate.ts";
import { Worker } from "../../src/worker/index.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";

const newest = newestSchema(schemaSteps());

describe.skipIf(noPostgres !== undefined)(`a hub on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  let env: Record<string, string>;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    env = { ...stillEnv, WRIT_DATABASE_URL: cluster.url("postgres") };
  });
  afterAll(() => cluster.stop());

  const start = async (home?: string): Promise<TestHub> =>
    startTestHub({ ...env }, home === undefined ? {} : { home });

  function folder(): string {
    const dir = mkdtempSync(join(tmpdir(), "writ-postgres-hub-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  async function runOne(hub: TestHub): Promise<string> {
    const type = freshName("double");
    const worker = new Worker({
      url: hub.url,
      token: hub.admin,
      workerId: freshName("w"),
      dataDir: folder(),
    });
    await worker.handle(type, ({ params }) => 2 * (params as number)).start();
    try {
      const { id } = await submitJob(hub, { type, run: { kind: "handler", params: 21 } });
      await eventually("the job ends", async () => (await jobReader(hub)(id)).status === "completed");
      expect((await jobReader(hub)(id)).result).toBe(42);
      return id;
    } finally {
      await worker.stop();
    }
  }

  test("refuses a database that does not exist, and a server that is not there, in one sentence", async () => {
    const missing = startTestHub(
      { ...stillEnv, WRIT_DATABASE_URL: cluster.url("nobody") },
      { home: folder() },
    );
    await expect(missing).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "the database in WRIT_DATABASE_URL does not exist; create it first: CREATE DATABASE",
    });
    const away = startTestHub(
      { ...stillEnv, WRIT_DATABASE_URL: "postgres://u@127.0.0.1:1/x" },
      { home: folder() },
    );
    await expect(away).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "the PostgreSQL server of WRIT_DATABASE_URL cannot be reached",
    });
  });

  test("a command that cannot open the database names what to check, and no password", async () => {
    const check = async (url: string) => {
      const { code, stderr } = await runCli("writ", ["upgrade-check", "--home", folder()], {
        env: { WRIT_DATABASE_URL: url },
      });
      expect(code).toBe(1);
      expect(stderr).not.toMatch(/hub\.log|s3cret/);
      return stderr;
    };
    expect(await check(cluster.url("nobody"))).toBe(
      "writ: the database in WRIT_DATABASE_URL does not exist; create it first: CREATE DATABASE\n",
    );
    expect(await check("postgres://u:s3cret@127.0.0.1:1/x")).toContain(
      "the PostgreSQL server of WRIT_DATABASE_URL cannot be reached; see that it runs at 127.0.0.1:1, and that",
    );
  });

  test("a command reports an empty database as one that the next start fills", async () => {
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE untouched"));
    const around = { env: { WRIT_DATABASE_URL: cluster.url("untouched") } };
    const { stdout } = await runCli("writ", ["upgrade-check", "--home", folder()], around);
    expect(stdout).toBe(
      `The database in WRIT_DATABASE_URL is empty or does not exist yet; the next start gives it schema ${newest}.\n`,
    );
  });

  test("there is no audit trail to check, and nothing to back up, in an empty database", async () => {
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE unused"));
    const empty = { env: { ...env, WRIT_DATABASE_URL: cluster.url("unused") } };
    const home = folder();
    await (await startTestHub(stillEnv, { home })).stop({ keepHome: true });
    const passphrase = join(home, "passphrase");
    writeFileSync(passphrase, "correct horse battery\n", { mode: 0o600 });
    const commands = [
      ["audit", "verify"],
      ["backup", join(home, "b"), "--passphrase-file", passphrase],
    ];
    const sayAll = async (words: string) => {
      for (const command of commands) {
        const { code, stdout, stderr } = await runCli("writ", [...command, "--home", home], empty);
        expect([code, stdout, stderr]).toEqual([
          2,
          "",
          `writ: the database in WRIT_DATABASE_URL is empty${words}\n`,
        ]);
      }
    };
    await sayAll(
      ", but the home knows one; set WRIT_DATABASE_URL to that one, load its dump with pg_restore, or move the home's own database there with `writ migrate --to postgres:`",
    );
    rmSync(join(home, "database.json"));
    await sayAll(": no hub has used it yet; start the hub once, or set WRIT_DATABASE_URL to another one");
  });

  test("a hub refuses a schema of another program and changes nothing in it", async () => {
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE foreign_owner"));
    const url = cluster.url("foreign_owner");
    const tables = ["a", "b", "c", "d", "e", "f", "schema_steps"];
    await withClient(url, async (client) => {
      await client.query("CREATE SCHEMA writ");
      for (const table of tables) await client.query(`CREATE TABLE writ.${table} (id int)`);
    });
    const words =
      "WRIT_DATABASE_URL: the schema writ of this database belongs to another program; it holds a, b, c, d, e and 2 more; use an empty database, or rename that schema: ALTER SCHEMA writ RENAME TO another_name";
    const around = { ...stillEnv, WRIT_DATABASE_URL: url };
    await expect(startTestHub({ ...around }, { home: folder() })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: words,
    });
    const checked = await runCli("writ", ["upgrade-check", "--home", folder()], { env: around });
    expect([checked.code, checked.stderr]).toEqual([2, `writ: ${words}\n`]);
    await withClient(url, async (client) => {
      const { rows } = await client.query(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'writ' ORDER BY 1",
      );
      expect(rows.map(({ tablename }) => tablename)).toEqual(tables);
    });
  });

  test("runs jobs, keeps them over a restart, and its audit trail holds", async () => {
    const home = folder();
    const first = await start(home);
    const id = await runOne(first);
    // It has signed where the chain begins, and its first head is not due yet.
    expect(await verifyAudit({ home, env: { ...env } })).toMatchObject({ faults: [], unchecked: [] });
    await expect(start(folder())).rejects.toMatchObject({
      code: "KEY_REJECTED",
      message: expect.stringContaining("name the right one with WRIT_KEYS_DIR"),
    });
    await first.stop({ keepHome: true });
    const again = await start(home);
    onTestFinished(() => again.stop({ keepHome: true }));
    expect((await jobReader(again)(id)).result).toBe(42);
    await runOne(again);
    const verdict = await verifyAudit({ home, env: { ...env } });
    expect(verdict).toMatchObject({ faults: [], unchecked: [] });
    expect(verdict.records).toBeGreaterThan(5);
    const plan = await planUpgrade({ home, env: { ...env } });
    expect(plan).toMatchObject({ schema: plan.newest, steps: [] });
  });

  test("answers again when the server was killed and is back", async () => {
    await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE killed"));
    const hub = await startTestHub(
      { ...stillEnv, WRIT_DATABASE_URL: cluster.url("killed") },
      { home: folder() },
    );
    onTestFinished(() => hub.stop({ keepHome: true }));
    const { id } = await submitJob(hub);
    await cluster.end("SIGKILL");
    await expect(submitJob(hub)).rejects.toThrow("503");
    await cluster.restart();
    const token = hub.admin;
    await eventually(
      "the hub is back",
      async () => (await hub.call("GET", `/jobs/${id}`, { token })).status === 200,
    );
    expect(await submitJob(hub)).toMatchObject({ id: expect.any(String) });
  });
});
