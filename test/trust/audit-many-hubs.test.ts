import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditCheckView } from "../../src/contract/shapes/audit-shapes.ts";
import { openStore } from "../../src/hub/database/open-database.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";

describe.skipIf(noPostgres !== undefined)(
  `the audit trail of several hubs${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    const keys = mkdtempSync(join(tmpdir(), "writ-audit-keys-"));
    /** Its hub has led and has signed everything; the hub of the other one has never led. */
    let led: string;
    let followed: string;
    /** The check that the hub which never led was asked for while both ran. */
    let checked: AuditCheckView;
    /** The last record. */
    let last: number;

    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
      const env = { ...stillEnv, WRIT_DATABASE_URL: cluster.url("postgres"), WRIT_KEYS_DIR: keys };
      const leader = await startTestHub({ ...env });
      const follower = await startTestHub({ ...env });
      [led, followed] = [leader.home, follower.home];
      for (let count = 0; count < 5; count++) await submitJob(follower);
      checked = await checkAt(follower);
      last = checked.last;
      const known = () => JSON.parse(readFileSync(join(followed, "database.json"), "utf8")).last_seq;
      await eventually("the home knows how far the log is", () => known() === last);
      await follower.stop({ keepHome: true });
      await leader.stop({ keepHome: true });
    });
    afterAll(async () => {
      await cluster.stop();
      for (const dir of [keys, led, followed]) rmSync(dir, { recursive: true, force: true });
    });

    async function checkAt(hub: TestHub): Promise<AuditCheckView> {
      await hub.must("POST", "/audit/verify", { token: hub.admin });
      return eventually("the check is over", async () => {
        const check = (await hub.must("GET", "/audit/verify", { token: hub.admin })).json<AuditCheckView>();
        return check.status !== "running" && check;
      });
    }

    async function setQueuePaused(url: string, paused: boolean, nowMs: number): Promise<void> {
      const { macKey } = openKeyRing(keys, { nowMs });
      const store = await openStore({ kind: "postgres", url }, { macKey, term: () => null });
      await store.setQueuePaused({ type: "any", paused, nowMs, origin: null });
      await store.close();
    }

    /** A copy of the database with which somebody has tampered. */
    async function copyAfter(...statements: string[]): Promise<string> {
      const name = freshName("d").replaceAll("-", "_");
      await withClient(cluster.url("template1"), (client) =>
        client.query(`CREATE DATABASE ${name} TEMPLATE postgres`),
      );
      await withClient(cluster.url(name), async (client) => {
        await client.query("SET search_path = writ");
        for (const statement of statements) await client.query(statement);
      });
      return cluster.url(name);
    }

    const run = (home: string, url: string, ...args: string[]) =>
      runCli("writ", [...args, "--home", home], { env: { WRIT_DATABASE_URL: url, WRIT_KEYS_DIR: keys } });
    async function verify(home: string, url: string): Promise<[number, string]> {
      const { code, stdout } = await run(home, url, "audit", "verify");
      return [code, stdout];
    }

    const unproven =
      "not checked: this home has no signed heads: its hub has never led or has just begun to, or audit-heads.ndjson was removed";

    test("shows in every home what was changed, removed or cut off", async () => {
      const edited = await copyAfter("UPDATE events SET owner_id = 'eve' WHERE seq = 4");
      const removed = await copyAfter("DELETE FROM events WHERE seq = 4");
      const cut = await copyAfter(
        `DELETE FROM events WHERE seq > ${last - 2}`,
        `DELETE FROM audit_seals WHERE seq > ${last - 2}`,
        "DELETE FROM audit_marks WHERE audit = 'head'",
        `UPDATE log_state SET last = ${last - 2}`,
      );
      for (const home of [led, followed]) {
        expect(await verify(home, edited)).toEqual([
          1,
          expect.stringContaining("record 4: was changed after"),
        ]);
        expect(await verify(home, removed)).toEqual([1, expect.stringContaining("record 4: was removed")]);
        expect(await verify(home, cut)).toEqual([
          1,
          expect.stringContaining(`record ${last - 1}: the tail was cut off`),
        ]);
      }
    });

    test("is not called tampered with in a home whose hub never led, which says what it could not check", async () => {
      const url = cluster.url("postgres");
      const all = `${last} records, 1 to ${last}, signed up to record ${last}`;
      expect(await verify(led, url)).toEqual([0, `the audit trail is intact: ${all}\n`]);
      const [code, said] = await verify(followed, url);
      expect([code, said.split("\n")[0]]).toEqual([
        0,
        `the audit trail is intact as far as it can be checked in this home: ${all}`,
      ]);
      expect(said).toContain(`${unproven}. Somebody who can write to the database could have`);
      expect(said).toContain(`changed, added or removed records after record ${last}. To rule that out,`);
      expect(said).toContain("run `writ audit verify` in the home of the hub that leads");
    });

    test("says the same when the hub that never led is asked", () => {
      expect(checked.verdict).toMatchObject({ ok: true, faults: [] });
      expect(checked.verdict!.unchecked).toEqual([expect.stringMatching(/^this home has no signed heads/)]);
    });

    test("whose newest heads were removed from the database is proven only by the home that has them", async () => {
      const url = await copyAfter(
        "DELETE FROM audit_marks WHERE audit = 'head'",
        `DELETE FROM audit_seals WHERE seq = ${last}`,
        `UPDATE events SET owner_id = 'eve' WHERE seq = ${last}`,
      );
      expect(await verify(led, url)).toEqual([1, expect.stringContaining("are covered by a signed head")]);
      const [code, said] = await verify(followed, url);
      expect([code, said]).toEqual([0, expect.stringContaining(unproven)]);
      expect(said).toContain("none signed yet");
      expect(said).toContain("changed, added or removed any record.");
    });

    test("is proven up to its own heads by a home whose hub has led before another one", async () => {
      const url = await copyAfter();
      const env = { ...stillEnv, WRIT_DATABASE_URL: url, WRIT_KEYS_DIR: keys };
      for (const paused of [true, false]) {
        const next = await startTestHub(env);
        await submitJob(next);
        // Hubs go by the clock of the database, so an hour passes only for what is written beside them.
        await setQueuePaused(url, paused, Date.now() + 3_600_000);
        await next.stop();
      }
      const [code, said] = await verify(led, url);
      const where = `not checked: the signed heads in this home end at record ${last}: another hub has led since then, or`;
      expect([code, said]).toEqual([0, expect.stringContaining(where)]);
      expect(said).not.toContain(`records after record ${last}.`);
      // The records themselves tell that heads are missing.
      await withClient(url, (client) => client.query(`DELETE FROM writ.audit_marks WHERE seq > ${last}`));
      const [, saidThen] = await verify(led, url);
      expect(saidThen).toContain(where);
      expect(saidThen).toContain(`changed, added or removed records after record ${last}.`);
    });

    test("whose oldest days another hub has moved into files is checked from there on, and is said to be", async () => {
      const moved = ["DELETE FROM events WHERE seq <= 3", "DELETE FROM audit_seals WHERE seq < 3"];
      const url = await copyAfter(...moved);
      const [code, said] = await verify(followed, url);
      expect([code, said]).toEqual([
        0,
        expect.stringContaining("not checked: records 1 to 3 are neither in the database nor in this home"),
      ]);
      const edited = await copyAfter(...moved, "UPDATE events SET owner_id = 'eve' WHERE seq = 4");
      expect(await verify(followed, edited)).toEqual([1, expect.stringContaining("record 4: was changed")]);
      // A hub that has led would have the files itself.
      const [ledCode, ledSaid] = await verify(led, url);
      expect([ledCode, ledSaid]).toEqual([
        1,
        expect.stringContaining("record 1: was removed, and so were all"),
      ]);
      expect(ledSaid).toContain("let `audit` in every home be a link to one folder");
    });

    test("is backed up from a home whose hub never led with the same reservation, and not moved to a file", async () => {
      const passphrase = join(followed, "passphrase");
      writeFileSync(passphrase, "correct horse battery\n", { mode: 0o600 });
      const file = join(followed, "backup");
      const url = cluster.url("postgres");
      const made = await run(followed, url, "backup", file, "--passphrase-file", passphrase);
      expect([made.code, made.stdout]).toEqual([0, expect.stringContaining(unproven)]);
      const target = `sqlite:${join(followed, "writ.sqlite")}`;
      const refused = await run(followed, await copyAfter(), "migrate", "--to", target);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("has no signed heads of the audit trail, because its hub has never led"),
      ]);
    });
  },
);
