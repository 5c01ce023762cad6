import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../src/hub/admin.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";

describe.skipIf(noPostgres !== undefined)(
  `a database that is exchanged under a running hub${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    let made = 0;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    const onServer = (...statements: string[]) =>
      withClient(cluster.url("postgres"), async (client) => {
        for (const statement of statements) await client.query(statement);
      });

    async function newDatabase(): Promise<string> {
      const name = `r${++made}`;
      await onServer(`CREATE DATABASE ${name}`);
      return name;
    }

    /** No client may be connected to what is copied or renamed; the hub comes back by itself. */
    const alone = (name: string, statement: string, after = name) =>
      onServer(
        `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
        statement,
        `ALTER DATABASE ${after} ALLOW_CONNECTIONS true`,
      );

    const copy = (name: string, as: string) => alone(name, `CREATE DATABASE ${as} TEMPLATE ${name}`);
    const rename = (name: string, to: string) => alone(name, `ALTER DATABASE ${name} RENAME TO ${to}`, to);

    function folder(): string {
      const dir = mkdtempSync(join(tmpdir(), "writ-rolled-back-"));
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
      return dir;
    }

    async function startHub(name: string, home: string, shown: string[] = []): Promise<TestHub> {
      const env = { ...stillEnv, WRIT_DATABASE_URL: cluster.url(name) };
      const hub = await startTestHub(env, { home, onNotice: (line) => void shown.push(line) });
      let isStopped = false;
      const stop = async () => {
        if (!isStopped) await hub.stop({ keepHome: true });
        isStopped = true;
      };
      onTestFinished(stop);
      return { ...hub, stop };
    }

    const submit = (hub: TestHub) =>
      hub.call("POST", "/jobs", { token: hub.admin, body: { type: "any", run: { kind: "handler" } } });

    async function refusedBecause(hub: TestHub, reason: RegExp): Promise<void> {
      const health = await eventually("health gives the reason", async () => {
        const answer = await hub.call("GET", "//healthz");
        return reason.test(answer.text) && answer;
      });
      expect(health.status).toBe(503);
      for (const answer of [await submit(hub), await hub.call("GET", "/jobs", { token: hub.admin })]) {
        expect(answer).toMatchObject({ status: 503, code: "STORE_UNAVAILABLE" });
        expect(answer.text).toMatch(reason);
      }
    }

    const serves = (hub: TestHub) =>
      eventually("it serves", async () => (await submit(hub)).status === 201 && { isServing: true });

    const notedSeq = (home: string) =>
      (JSON.parse(readFileSync(join(home, "database.json"), "utf8")) as { last_seq: number }).last_seq;

    const logOf = (home: string) => readFileSync(join(home, "logs/hub.log"), "utf8");

    test("an older state is refused until a person accepts the loss", async () => {
      const [name, home] = [await newDatabase(), folder()];
      const shown: string[] = [];
      const hub = await startHub(name, home, shown);
      const { id: early } = await submitJob(hub);
      await copy(name, `${name}_old`);
      await serves(hub);
      const { id: late } = await submitJob(hub);
      const before = notedSeq(home);
      await eventually("the log is noted", () => notedSeq(home) > before);
      const [known, atLoss] = [notedSeq(home), shown.length];

      await onServer(`DROP DATABASE ${name} WITH (FORCE)`, `ALTER DATABASE ${name}_old RENAME TO ${name}`);
      await refusedBecause(hub, /has lost its newest part: it ends at record \d+, and this hub knows record/);
      const told = await eventually("the terminal says so", () =>
        shown.find((line) => line.includes("lost its newest part")),
      );
      expect(told).toMatch(/every call is refused until it is back; otherwise stop the hub/);
      await hub.stop();
      expect(logOf(home)).toMatch(/"level":"fatal".*lost its newest part/);
      expect(shown.slice(atLoss).filter((line) => line.startsWith("the database is back"))).toEqual([]);
      expect(notedSeq(home)).toBe(known);

      const refusal = await startHub(name, home).catch((error: Error) => error);
      expect(refusal).toMatchObject({ code: "STORE_ROLLED_BACK" });
      const acceptLoss = Number(/--accept-loss (\d+)/.exec((refusal as Error).message)![1]);
      const env = { ...stillEnv, WRIT_DATABASE_URL: cluster.url(name) };
      const again = await startTestHub(env, { home, acceptLoss });
      expect(await jobReader(again)(early)).toMatchObject({ status: "pending" });
      expect((await again.call("GET", `/jobs/${late}`, { token: again.admin })).status).toBe(404);
      await again.stop({ keepHome: true });
      const audit = await verifyAudit({ home, env: { WRIT_DATABASE_URL: cluster.url(name) } });
      expect(audit.faults).toEqual([]);
    });

    test("the hub continues when the right one is put back", async () => {
      const [name, home] = [await newDatabase(), folder()];
      const shown: string[] = [];
      const hub = await startHub(name, home, shown);
      await copy(name, `${name}_old`);
      await serves(hub);
      const { id } = await submitJob(hub);
      await rename(name, `${name}_right`);
      await rename(`${name}_old`, name);
      await refusedBecause(hub, /has lost its newest part/);
      await rename(name, `${name}_old`);
      await rename(`${name}_right`, name);
      await serves(hub);
      expect(await jobReader(hub)(id)).toMatchObject({ id });
      await eventually("the terminal says so", () => /^the database is back/.test(shown.at(-1)!));
    });

    test("a database that is dropped and created again counts as lost", async () => {
      const [name, home] = [await newDatabase(), folder()];
      const hub = await startHub(name, home);
      await submitJob(hub);
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
      await refusedBecause(hub, /the database in WRIT_DATABASE_URL does not exist any more/);
      await onServer(`CREATE DATABASE ${name}`);
      await refusedBecause(hub, /the database in WRIT_DATABASE_URL is empty now/);
      await eventually("the log says so", () => /"level":"fatal".* is empty now/.test(logOf(home)));
      expect(logOf(home)).not.toMatch(/relation .* does not exist/);
    });

    test("the database of another hub is refused", async () => {
      const [name, home] = [await newDatabase(), folder()];
      const other = await newDatabase();
      const hub = await startHub(name, home);
      await submitJob(hub);
      const stranger = await startHub(other, folder());
      for (let count = 0; count < 5; count++) await submitJob(stranger);
      await stranger.stop();
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
      await rename(other, name);
      await refusedBecause(hub, /the database in WRIT_DATABASE_URL is not the one that this hub uses/);
    });
  },
);
