import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../src/hub/admin.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli, startCli } from "../support/run-cli.ts";
import { folder, fullHome, lookThrough, runMigrate, startIn } from "./stage.ts";

describe.skipIf(noPostgres !== undefined)(`writ migrate${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
  });
  afterAll(() => cluster.stop());

  async function emptyDatabase(): Promise<string> {
    const name = freshName("d").replaceAll("-", "_");
    await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
    return cluster.url(name);
  }

  async function smallHome(): Promise<string> {
    const hub = await startTestHub(stillEnv);
    onTestFinished(() => rmSync(hub.home, { recursive: true, force: true }));
    await submitJob(hub);
    await hub.stop({ keepHome: true });
    return hub.home;
  }

  async function upgradeCheck(home: string, url?: string): Promise<string> {
    const env: Record<string, string> = url === undefined ? {} : { WRIT_DATABASE_URL: url };
    const { code, stdout, stderr } = await runCli("writ", ["upgrade-check", "--home", home], { env });
    expect([code, stderr]).toEqual([stdout.startsWith("A hub would refuse") ? 1 : 0, ""]);
    return stdout.trim();
  }

  test("refuses what is not an address, and repeats no password", async () => {
    const home = await smallHome();
    const refusal = async (args: string[], env = {}) => {
      const { code, stdout, stderr } = await runMigrate(home, args, env);
      expect(code).toBe(2);
      expect(stdout + stderr).not.toContain("s3cret");
      return stderr;
    };
    expect(await refusal([])).toContain("--to: say where the database goes");
    expect(await refusal(["--to", "mysql://u:s3cret@h/d"])).toContain("--to: not an address of a database");
    expect(await refusal(["--to", "sqlite:a", "--from", "sqlite:b"])).toContain("one of them must be SQLite");
    expect(await refusal(["--to", "postgres:"])).toContain("WRIT_DATABASE_URL is not set");
    expect(await refusal(["--to-env", "NOWHERE"])).toContain("the variable NOWHERE is not set");
    expect(await refusal(["--to-env", "X"], { X: "postgres//u:s3cret@h" })).toContain("X: not an address");
    const { code, stdout, stderr } = await runMigrate(home, ["--to", "postgres://u:s3cret@127.0.0.1:1/x"]);
    expect(code).toBe(1);
    expect(stderr).toContain("can read the password in these arguments");
    expect(stdout + stderr).not.toContain("s3cret");
  });

  test("refuses while a hub runs, other keys, and a target that is in use", async () => {
    const home = await smallHome();
    const hub = await startTestHub(stillEnv, { home });
    const url = await emptyDatabase();
    const to = { TO: url };
    expect((await runMigrate(home, ["--to-env", "TO"], to)).stderr).toContain("a hub is already running");
    await hub.stop({ keepHome: true });

    const other = await smallHome();
    const foreign = await runMigrate(
      home,
      ["--from", `sqlite:${join(other, "writ.sqlite")}`, "--to-env", "TO"],
      to,
    );
    expect(foreign.stderr).toContain("belongs to a hub with other keys");

    const user = await startTestHub({ ...stillEnv, WRIT_DATABASE_URL: url }, { home: folder() });
    await user.stop({ keepHome: true });
    const used = await runMigrate(home, ["--to-env", "TO"], to);
    expect([used.code, used.stderr]).toEqual([2, expect.stringContaining("is not empty")]);
    // Refused, so nothing has changed: the hub starts.
    await (await startTestHub(stillEnv, { home })).stop({ keepHome: true });
  });

  test("refuses a target whose schema holds tables of another program, before it writes anything", async () => {
    const home = await smallHome();
    const url = await emptyDatabase();
    await withClient(url, async (client) => {
      await client.query("CREATE SCHEMA writ");
      await client.query("CREATE TABLE writ.customers (id int)");
      await client.query("CREATE VIEW writ.regulars AS SELECT * FROM writ.customers");
    });
    const { code, stderr } = await runMigrate(home, ["--to-env", "TO"], { TO: url });
    expect([code, stderr]).toEqual([
      2,
      "writ: TO: the schema writ of this database belongs to another program; it holds customers, regulars; use an empty database, or rename that schema: ALTER SCHEMA writ RENAME TO another_name\n",
    ]);
    await withClient(url, async (client) => {
      const { rows } = await client.query(
        "SELECT relname FROM pg_class WHERE relnamespace = 'writ'::regnamespace ORDER BY 1",
      );
      expect(rows).toEqual([{ relname: "customers" }, { relname: "regulars" }]);
    });
    await (await startTestHub(stillEnv, { home })).stop({ keepHome: true });
  });

  test("refuses a source of another schema, and one that does not exist", async () => {
    const home = await smallHome();
    const url = await emptyDatabase();
    const from = ["--from", `sqlite:${join(folder(), "none.sqlite")}`];
    expect((await runMigrate(home, [...from, "--to-env", "TO"], { TO: url })).stderr).toContain(
      "there is no database at",
    );
    const other = [
      [27, 2, "has schema 27, of version 0.1; start its hub once with this program"],
      [9_999, 1, "has schema 9999, but this program knows schemas only up to"],
    ] as const;
    for (const [version, status, refusal] of other) {
      const database = new DatabaseSync(join(home, "writ.sqlite"));
      database.exec(`PRAGMA user_version = ${version}`);
      database.close();
      const { code, stderr } = await runMigrate(home, ["--to-env", "TO"], { TO: url });
      expect([code, stderr]).toEqual([status, expect.stringContaining(refusal)]);
    }
  });

  test("moves everything to PostgreSQL and back, as the API shows it", async () => {
    const full = await fullHome();
    const { home, sqlite } = full;
    const url = await emptyDatabase();
    const first = await startIn(full);
    const before = await lookThrough(first);
    await first.stop({ keepHome: true });

    const there = await runMigrate(home, ["--to", "postgres:", "--json"], { WRIT_DATABASE_URL: url });
    expect([there.code, there.stderr]).toEqual([0, ""]);
    const lines = there.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ phase: "copy", part: "queues", total: expect.any(Number) });
    expect(lines.at(-1)).toMatchObject({
      done: true,
      damaged: [],
      next: "set WRIT_DATABASE_URL to that one",
    });
    await expect(startIn(full)).rejects.toThrow("this database was moved to postgres://127.0.0.1");
    expect(await upgradeCheck(home)).toMatch(
      /^A hub would refuse the database \S+writ\.sqlite: this database was moved to postgres:\S+; set WRIT_DATABASE_URL to that one\.$/,
    );
    expect(await upgradeCheck(home, url)).toContain("the next start changes nothing");

    const moved = await startIn(full, { WRIT_DATABASE_URL: url });
    expect(await lookThrough(moved)).toEqual(before);
    await submitJob(moved);
    const after = await lookThrough(moved);
    await moved.stop({ keepHome: true });
    expect((await verifyAudit({ home, env: { WRIT_DATABASE_URL: url } })).faults).toEqual([]);
    // The file ends where it was moved, which is not a tail that was cut off.
    expect(await runCli("writ", ["audit", "verify", "--seals", "--home", home], { env: {} })).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^writ: this database was moved to postgres:\S+; set WRIT_DATABASE_URL to that one\n$/,
      ),
    });

    renameSync(sqlite, `${sqlite}.moved`);
    const back = await runMigrate(home, ["--to", "sqlite:"], { WRIT_DATABASE_URL: url });
    expect([back.code, back.stderr]).toEqual([0, ""]);
    expect(back.stdout).toContain("set SQLITE_PATH");
    await expect(startIn(full, { WRIT_DATABASE_URL: url })).rejects.toThrow("this database was moved to /");
    expect(await upgradeCheck(home, url)).toMatch(
      /^A hub would refuse the database in WRIT_DATABASE_URL: this database was moved to \S+writ\.sqlite; unset WRIT_DATABASE_URL/,
    );
    expect(await upgradeCheck(home)).toContain("the next start changes nothing");
    const again = await startIn(full);
    expect(await lookThrough(again)).toEqual(after);
    await submitJob(again);
    await again.stop({ keepHome: true });
    expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);
  });

  test("fills a database that a hub was refused, because that changed nothing", async () => {
    const home = await smallHome();
    const url = await emptyDatabase();
    const early = startTestHub({ ...stillEnv, WRIT_DATABASE_URL: url }, { home });
    await expect(early).rejects.toThrow("`writ migrate --to postgres:` moves the home's own there");
    expect((await runMigrate(home, ["--to-env", "TO"], { TO: url })).code).toBe(0);
  });

  test("stops after a page when it is asked to, and continues with the next call", async () => {
    const home = await smallHome();
    const args = ["migrate", "--home", home, "--to-env", "TO"];
    const env = { TO: await emptyDatabase() };
    const first = startCli("writ", args, { env });
    first.stops.request("SIGINT");
    expect(await first.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("it continues") });
    await expect(startTestHub(stillEnv, { home })).rejects.toThrow("is being moved");
    expect(await upgradeCheck(home)).toContain("this database is being moved to postgres://127.0.0.1");
    expect(await upgradeCheck(home, env.TO)).toContain("is the target of a migration from");
    const half = verifyAudit({ home, env: { WRIT_DATABASE_URL: env.TO } });
    await expect(half).rejects.toThrow("is the target of a migration from");
    const second = await runMigrate(home, ["--to-env", "TO"], env);
    expect([second.code, second.stdout]).toEqual([0, expect.stringContaining("set WRIT_DATABASE_URL")]);
  });

  test("leaves the source as it is except for its mark, which can be taken back", async () => {
    const home = await smallHome();
    const sqlite = join(home, "writ.sqlite");
    const contents = () => {
      const database = new DatabaseSync(sqlite, { readOnly: true });
      const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1").all();
      const rows = names
        .map(({ name }) => String(name))
        .filter((name) => name !== "database_move")
        .map((name) => [name, database.prepare(`SELECT * FROM ${name}`).all()]);
      database.close();
      return JSON.stringify(rows);
    };
    const before = contents();
    const there = await emptyDatabase();
    await runMigrate(home, ["--to-env", "TO"], { TO: there });
    expect(contents()).toBe(before);
    expect((await runMigrate(home, ["--to-env", "TO"], { TO: await emptyDatabase() })).stderr).toContain(
      "before",
    );
    await expect(startTestHub(stillEnv, { home })).rejects.toThrow("set WRIT_DATABASE_URL to that one");
    const undone = await runMigrate(home, ["--abandon"]);
    expect([undone.code, undone.stdout]).toEqual([0, expect.stringContaining("may use")]);
    expect(existsSync(sqlite)).toBe(true);
    const hub = await startTestHub(stillEnv, { home });
    await submitJob(hub);
    await hub.stop({ keepHome: true });
    // The copy could be used, but the hub has gone on without it.
    await (await startTestHub(stillEnv, { home })).stop({ keepHome: true });
    expect(await upgradeCheck(home, there)).toMatch(
      /^A hub would refuse the database in WRIT_DATABASE_URL: this database has lost its newest part: it ends at record \d+, and the home knows/,
    );
  });
});
