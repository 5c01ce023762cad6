import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";
import { findPostgres, noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";
import { folder } from "./stage.ts";

describe.skipIf(noPostgres !== undefined)(
  `the backup of a hub on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    /** Runs a command that was printed, in the folder; only the program's place is added. */
    const runPrinted = (text: string, cwd: string): void => {
      const PATH = `${dirname(findPostgres()!)}:${process.env["PATH"]}`;
      execFileSync("sh", ["-c", text], { cwd, env: { PATH } });
    };
    const make = (name: string) =>
      withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));

    test("says how to dump the database, and is restored after that was", async () => {
      await make("first");
      await make("second");
      const dir = folder();
      const home = join(dir, "home");
      const env = { ...stillEnv, WRIT_DATABASE_URL: cluster.url("first") };
      const passphrase = join(dir, "passphrase");
      writeFileSync(passphrase, "correct horse battery\n", { mode: 0o600 });
      const file = ["--passphrase-file", passphrase];

      const hub = await startTestHub(env, { home });
      const { id } = await submitJob(hub);
      await hub.stop({ keepHome: true });
      const secret = { WRIT_DATABASE_URL: env.WRIT_DATABASE_URL.replace("bench@", "bench:s3cret@") };
      const made = await runCli("writ", ["backup", join(dir, "b"), "--home", home, ...file, "--json"], {
        env: secret,
      });
      expect([made.code, made.stderr]).toEqual([0, ""]);
      expect(made.stdout).not.toContain("s3cret");
      runPrinted((JSON.parse(made.stdout) as { dump_command: string }).dump_command, dir);

      // What happens after the dump is lost by it, and the home notices.
      const again = await startTestHub(env, { home });
      await submitJob(again);
      await again.stop({ keepHome: true });
      const old = { ...stillEnv, WRIT_DATABASE_URL: cluster.url("second") };
      const restored = join(dir, "restored");
      const restore = () =>
        runCli("writ", ["restore", join(dir, "b"), "--home", restored, ...file], { env: { ...old } });
      const early = await restore();
      expect([early.code, early.stderr]).toEqual([
        2,
        expect.stringContaining("is empty; restore it first: pg_restore"),
      ]);
      runPrinted(/pg_restore .*/.exec(early.stderr)![0].replace(/; .*/, ""), dir);
      await expect(startTestHub({ ...old }, { home })).rejects.toMatchObject({ code: "STORE_ROLLED_BACK" });

      const good = await restore();
      expect([good.code, good.stderr]).toEqual([0, ""]);
      expect(good.stdout).toContain("The output of jobs came back with the database, except older parts in");
      expect(good.stdout).toContain("copy objects/ there if you have it");
      expect(good.stdout).not.toContain("outputs/");
      const verified = await runCli("writ", ["audit", "verify", "--seals", "--home", restored], {
        env: { ...old },
      });
      expect([verified.code, verified.stdout]).toEqual([
        0,
        expect.stringContaining("the seals are intact: 1 documents"),
      ]);
      const third = await startTestHub({ ...old }, { home: restored });
      expect(await jobReader(third)(id)).toMatchObject({ status: "pending" });
      await third.stop({ keepHome: true });

      // An edited document is refused.
      await withClient(old.WRIT_DATABASE_URL, (client) =>
        client.query("UPDATE writ.jobs SET document = replace(document, 'true', 'tru3')"),
      );
      const edited = await runCli("writ", ["audit", "verify", "--seals", "--home", restored], {
        env: { ...old },
      });
      expect([edited.code, edited.stdout]).toEqual([1, expect.stringContaining("does not match its seal")]);
      rmSync(restored, { recursive: true });
      const refused = await restore();
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("tampered with")]);
    });
  },
);
