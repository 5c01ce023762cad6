import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Logger, silentLogger } from "../../src/runtime/log/logger.ts";
import { DatabaseNetwork, noNetwork } from "../support/database-network.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { jobReader, runningJob, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";
import { startTestWorker } from "../support/worker.ts";

const silent = {
  status: "store unavailable",
  code: "STORE_UNAVAILABLE",
  reason: expect.stringMatching(/does not answer/),
};

describe.skipIf(noPostgres !== undefined)(
  `a database that hangs${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    let isFrozen = false;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterEach(() => {
      if (isFrozen) cluster.thaw();
      isFrozen = false;
    });
    afterAll(() => cluster.stop());

    const freeze = () => {
      cluster.freeze();
      isFrozen = true;
    };
    const thaw = () => {
      cluster.thaw();
      isFrozen = false;
    };

    test("every call is answered, health has the reason, and the hub recovers by itself", async () => {
      const hub = await startHub(cluster.url("postgres"));
      const { id } = await submitJob(hub);
      freeze();
      for (const path of ["//healthz", "//readyz"]) {
        const answer = await hub.call("GET", path);
        expect([answer.status, answer.json()]).toEqual([503, expect.objectContaining(silent)]);
      }
      const token = hub.admin;
      const calls = [
        hub.call("GET", `/jobs/${id}`, { token }),
        hub.call("GET", "/jobs", { token }),
        hub.call("POST", "/jobs", { token, body: { type: "any", run: { kind: "handler" } } }),
        hub.call("GET", `/jobs/${id}/output/stdout`, { token }),
      ];
      for (const call of calls) expect((await call).code).toMatch(/^(?:STORE|OUTPUT)_UNAVAILABLE$/);
      const { code, stdout } = await runCli("writ", ["health", "--home", hub.home], { env: {} });
      expect(code).toBe(1);
      expect(stdout).toMatch(/: store unavailable: .*does not answer/);
      thaw();
      await eventually("it is well", async () => (await hub.call("GET", "//healthz")).status === 200);
      await eventually(
        "it answers",
        async () => (await hub.call("GET", `/jobs/${id}`, { token })).status === 200,
      );
      await submitJob(hub);
    });

    test("the hub's log, its terminal and a worker's log have one line each for the loss and for the return", async () => {
      await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE told"));
      const shown: string[] = [];
      const onNotice = (line: string) => void shown.push(line);
      const hub = await startHub(cluster.url("told"), { WRIT_LOG_LEVEL: "info" }, onNotice);
      const told: string[] = [];
      const tell = (fields: object | string, message = fields) => void told.push(String(message));
      const logger = { ...silentLogger, warn: tell, error: tell, info: () => {} } as unknown as Logger;
      const worker = await startTestWorker(hub, { logger });
      onTestFinished(() => worker.stop());
      const hubLines = () =>
        readFileSync(join(hub.home, "logs/hub.log"), "utf8")
          .split("\n")
          .filter((line) => /"level":"(?:warn|error|fatal)"|"status":503/.test(line))
          .map((line) => (JSON.parse(line) as { msg: string }).msg);
      freeze();
      await eventually("the worker has noticed", () => told.length > 0);
      // Many calls fail meanwhile, of the worker, of the hub's own services and of this test.
      for (let calls = 0; calls < 20; calls++) await hub.call("GET", "/jobs", { token: hub.admin });
      thaw();
      await eventually("both are back", () =>
        [told, hubLines()].every((lines) => / is back after /.test(lines.at(-1)!)),
      );
      expect(told).toEqual([
        "the hub does not serve this worker at present; trying again until it is back",
        expect.stringMatching(/^the hub is back after \d+ s$/),
      ]);
      expect(shown).toEqual([
        expect.stringMatching(
          /^the database is away; calls are refused until it is back; see that the server /,
        ),
        expect.stringMatching(/^the database is back after \d+ s; calls are answered again$/),
      ]);
      const lines = hubLines().filter((line) => line !== "this hub leads no longer");
      expect(lines).toEqual([
        "the database is away; calls are refused until it is back",
        expect.stringMatching(/^the database is back after \d+ s; calls are answered again$/),
      ]);
    });

    test("a full disk of the server is reported once at the hub's terminal, like one of the hub's own", async () => {
      await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE no_room"));
      const shown: string[] = [];
      const hub = await startHub(cluster.url("no_room"), {}, (line) => void shown.push(line));
      await withClient(cluster.url("no_room"), (client) => fillTable(client, "jobs"));
      const body = { type: "any", run: { kind: "handler" } };
      for (let calls = 0; calls < 3; calls++) {
        const answer = await hub.call("POST", "/jobs", { token: hub.admin, body });
        expect([answer.status, answer.code]).toEqual([503, "STORE_UNAVAILABLE"]);
      }
      expect(shown).toEqual(["the disk of the database is full; calls are refused until there is room"]);
    });

    test.each([
      [
        "renewals",
        "a worker whose renewals the server had no room for keeps its job, whichever call comes first",
      ],
      [
        "the reaper",
        "a lease that only the reaper could not end is extended: another hub's worker was refused",
      ],
    ])("%s: %s", async (first) => {
      const name = first === "renewals" ? "refused" : "unreaped";
      await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
      const isByReaper = first === "the reaper";
      const shown: string[] = [];
      const env = { WRIT_REAPER_INTERVAL_MS: isByReaper ? "100" : "60000" };
      const hub = await startHub(cluster.url(name), env, (line) => void shown.push(line));
      const { id, fence } = await runningJob(hub);
      const call = (what: string, more = {}) =>
        hub.call("POST", `/jobs/${id}/${what}`, { token: hub.admin, body: { ...fence, ...more } });
      await withClient(cluster.url(name), async (client) => {
        await fillTable(client, "active");
        if (!isByReaper) expect((await call("start")).code).toBe("STORE_UNAVAILABLE");
        // A lease passes.
        await client.query("SET session_replication_role = replica");
        await client.query("UPDATE writ.active SET lease_expires_at = 1, due_at = 1");
        if (isByReaper) await eventually("the reaper is refused", () => shown.length > 0);
        else expect((await call("result", { result: 1 })).code).toBe("STORE_UNAVAILABLE");
        await client.query("DROP TRIGGER no_room ON writ.active");
      });
      const view = jobReader(hub);
      if (isByReaper) {
        const { id: expiring } = await submitJob(hub, { queue_ttl_sec: 1 });
        await eventually(
          "the reaper has done a round",
          async () => (await view(expiring)).status === "failed",
        );
      }
      expect((await call("result", { result: 1 })).status).toBe(200);
      expect(await view(id)).toMatchObject({ status: "completed", attempt: 1, fail_history: [] });
    });

    test("a hub that does not lead extends the leases that its workers could not renew", async () => {
      await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE two_hubs"));
      const url = cluster.url("two_hubs");
      const keys = mkdtempSync(join(tmpdir(), "writ-silent-database-"));
      onTestFinished(() => rmSync(keys, { recursive: true, force: true }));
      const rounds = (ms: number) => ({ WRIT_KEYS_DIR: keys, WRIT_REAPER_INTERVAL_MS: String(ms) });
      // The leader, whose next round is far away.
      await startHub(url, rounds(60_000));
      const other = await startHub(url, rounds(100));
      expect((await other.must("GET", "//healthz")).json()).toMatchObject({ leader: false });
      const { id, fence } = await runningJob(other);
      await withClient(url, async (client) => {
        await fillTable(client, "active");
        const renewal = await other.call("POST", `/jobs/${id}/start`, { token: other.admin, body: fence });
        expect(renewal.code).toBe("STORE_UNAVAILABLE");
        await client.query("SET session_replication_role = replica");
        await client.query("UPDATE writ.active SET lease_expires_at = 1, due_at = 1");
        await client.query("DROP TRIGGER no_room ON writ.active");
        await eventually("the lease is extended", async () => {
          const { rows } = await client.query<{ isLive: boolean }>(
            'SELECT lease_expires_at > 1 AS "isLive" FROM writ.active',
          );
          return rows[0]?.isLive;
        });
      });
    });

    test("a statement that only takes long is waited for", async () => {
      await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE slow"));
      const hub = await startHub(cluster.url("slow"));
      const { id } = await submitJob(hub);
      await withClient(cluster.url("slow"), async (client) => {
        await client.query("BEGIN");
        await client.query("LOCK TABLE writ.jobs IN ACCESS EXCLUSIVE MODE");
        const waiting = jobReader(hub)(id);
        // Long enough for several questions whether the server is still there.
        const waits = "SELECT pg_sleep(8)";
        await client.query(waits);
        await client.query("COMMIT");
        expect((await waiting).id).toBe(id);
      });
    });
  },
);

const lacking = noPostgres ?? noNetwork;

describe.skipIf(lacking !== undefined)(
  `a database behind a broken network${lacking ? `: ${lacking}` : ""}`,
  () => {
    test("a silent database is noticed although it refuses nothing, and used again when the network is back", async () => {
      const network = new DatabaseNetwork(1);
      onTestFinished(() => network.remove());
      const place = { name: network.name, host: network.host };
      const cluster = await PostgresCluster.start({ settings: ["fsync=off"], network: place });
      onTestFinished(() => cluster.stop());
      const hub = await startHub(cluster.url("postgres", network.hostFor(0)));
      const { id } = await submitJob(hub);
      network.cut(0);
      const answer = await hub.call("GET", "//healthz");
      expect([answer.status, answer.json()]).toEqual([503, expect.objectContaining(silent)]);
      expect((await hub.call("GET", `/jobs/${id}`, { token: hub.admin })).code).toBe("STORE_UNAVAILABLE");
      network.mend(0);
      await eventually("it is well", async () => (await hub.call("GET", "//healthz")).status === 200);
      await eventually("it serves", async () => (await submitJob(hub).catch(() => null)) !== null);
    });
  },
);

/** The server's own answer when a table cannot grow. */
async function fillTable(client: pg.Client, table: string): Promise<void> {
  await client.query(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$",
  );
  await client.query(
    `CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON writ.${table} EXECUTE FUNCTION public.refuse()`,
  );
}

async function startHub(
  url: string,
  env: Record<string, string> = {},
  onNotice?: (line: string) => void,
): Promise<TestHub> {
  const home = mkdtempSync(join(tmpdir(), "writ-silent-database-"));
  const hub = await startTestHub({ ...stillEnv, ...env, WRIT_DATABASE_URL: url }, { home, onNotice });
  onTestFinished(() => hub.stop());
  return hub;
}
