import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { JobsOverGrpc } from "../../src/client/grpc/jobs-over-grpc.ts";
import type { KeysView } from "../../src/contract/shapes/trust-view-shapes.ts";
import { errorOf } from "../support/call-http.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { presign, storedFile } from "../support/files.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";
import { issueToken } from "../support/tokens.ts";

describe.skipIf(noPostgres !== undefined)(`many hubs${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off", "max_connections=300"] });
  });
  afterAll(() => cluster.stop());

  type Place = Parameters<typeof startTestHub>[1];
  type Installation = {
    url: string;
    keys: string;
    start(place?: Place, env?: Record<string, string>): Promise<TestHub>;
    stopAll(): Promise<void>;
  };

  /** A database of its own, and how to start hubs on it that share their keys. */
  async function lastingInstallation(): Promise<Installation> {
    const name = freshName("d").replaceAll("-", "_");
    await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
    const url = cluster.url(name);
    const keys = mkdtempSync(join(tmpdir(), "writ-many-hubs-"));
    const hubs: TestHub[] = [];
    const start = async (place?: Place, env: Record<string, string> = {}): Promise<TestHub> => {
      const shared = { WRIT_DATABASE_URL: url, WRIT_KEYS_DIR: keys };
      const hub = await startTestHub({ ...stillEnv, ...shared, ...env }, place);
      hubs.push(hub);
      return hub;
    };
    const stopAll = async () => {
      // Stopping one that was stopped does nothing more.
      for (const hub of hubs) await hub.stop();
      rmSync(keys, { recursive: true, force: true });
    };
    return { url, keys, start, stopAll };
  }

  /** The same, for one test. */
  async function installation(): Promise<Installation> {
    const made = await lastingInstallation();
    onTestFinished(made.stopAll);
    return made;
  }

  const healthOf = async (hub: TestHub) =>
    (await hub.must("GET", "//healthz")).json<{ hubs: number; leader: boolean }>();

  test("as many as are started serve one database, and one of them leads", async () => {
    const { start } = await installation();
    const hubs = [await start(), await start(), await start()];
    for (const hub of hubs)
      await eventually("it knows the others", async () => (await healthOf(hub)).hubs === 3);
    const leads = await Promise.all(hubs.map(async (hub) => (await healthOf(hub)).leader));
    expect(leads).toEqual([true, false, false]);
    await hubs[0]!.stop();
    await eventually("another one leads", async () => {
      const [second, third] = await Promise.all(hubs.slice(1).map(healthOf));
      return second!.hubs === 2 && second!.leader !== third!.leader;
    });
  });

  test("doctor and health show the database, the hubs on it and which one leads, and no password", async () => {
    const { start } = await installation();
    const [a, b] = [await start(), await start()];
    await eventually("they know each other", async () => (await healthOf(a)).hubs === 2);
    const doctor = await runCli("writ", ["doctor", "--json", "--home", b.home], { env: {} });
    const found = doctor.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const says = (check: string) => found.filter((finding) => finding.check === check).map((one) => one.says);
    expect(says("database")).toEqual([expect.stringMatching(/^PostgreSQL \d+\.\d+, schema \d+$/)]);
    expect(says("hubs")).toEqual([
      expect.stringMatching(
        new RegExp(`^2 on this database: ${a.url} \\(.*:${a.home}, leads\\), ${b.url} \\(.*:${b.home}\\)$`),
      ),
    ]);
    expect(says("files")).toEqual([expect.stringContaining("each of 2 hubs keeps files in its own home")]);
    expect(doctor.stdout).not.toContain("postgres://");
    const health = async (hub: TestHub) =>
      (await runCli("writ", ["health", "--home", hub.home], { env: {} })).stdout;
    expect(await health(a)).toContain(": ok (PostgreSQL, one of 2 hubs; this one leads)\n");
    expect(await health(b)).toContain(": ok (PostgreSQL, one of 2 hubs)\n");
    const { status } = await b.call("GET", "/hubs", { token: (await issueToken(b, { role: "user" })).token });
    expect(status).toBe(403);
  });

  test("hubs without an object store warn when a second one starts, and report why a file is not at one of them", async () => {
    const { start } = await installation();
    const a = await start();
    const file = { folderId: "data", objectKey: "in.txt" };
    await storedFile(a, a.admin, { ...file, bytes: Buffer.from("hello") });
    const b = await start();
    const log = (hub: TestHub) => readFileSync(join(hub.home, "logs/hub.log"), "utf8");
    for (const hub of [a, b])
      await eventually("it warns", () => /2 hubs serve this database, and each keeps files/.test(log(hub)));
    const body = [{ ...file, method: "GET" }];
    const answer = await b.call("POST", "/files/presigned-urls", { token: b.admin, body });
    expect([answer.code, errorOf(answer.text).message]).toEqual([
      "FILE_REMOVED",
      "the 5 bytes of data/in.txt are missing: this hub does not have them, and of several hubs each keeps files in its own home; ask the hub that received them, or set the same WRIT_S3_ENDPOINT and WRIT_S3_BUCKET at all hubs",
    ]);
    await presign(a, a.admin, { ...file, method: "GET" });
    expect(log(a).match(/each keeps files/g)).toHaveLength(1);
  });

  test("no loss is accepted by a hub whose home knows another course, while another hub serves", async () => {
    const { start } = await installation();
    const serving = await start();
    const other = await start();
    await other.stop({ keepHome: true });
    onTestFinished(() => rmSync(other.home, { recursive: true, force: true }));
    const known = join(other.home, "database.json");
    const note = JSON.parse(readFileSync(known, "utf8")) as { last_seq: number };
    writeFileSync(known, JSON.stringify({ ...note, last_seq: note.last_seq + 1_000_000 }));
    const { home } = other;
    await expect(start({ home })).rejects.toThrow("--accept-loss");
    const accepted = start({ home, acceptLoss: note.last_seq });
    await expect(accepted).rejects.toThrow(`the hub at ${serving.url} serves it`);
  });

  test("a hub with a copy of the keys warns when another hub changes them, and a hub that shares them follows", async () => {
    const { start, keys } = await installation();
    const first = await start();
    const copy = mkdtempSync(join(tmpdir(), "writ-copied-keys-"));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    cpSync(keys, copy, { recursive: true });
    const sharing = await start();
    const told: string[] = [];
    const copied = await start({ onNotice: (line) => told.push(line) }, { WRIT_KEYS_DIR: copy });
    const token = first.admin;
    const { key_id } = (await first.must("POST", "/keys/rotate", { token })).json<{ key_id: string }>();
    const keyIdsAt = async (hub: TestHub) =>
      (await hub.must("GET", "/keys", { token })).json<KeysView>().keys.map((key) => key.key_id);
    await eventually("the one that shares them has it", async () =>
      (await keyIdsAt(sharing)).includes(key_id),
    );
    const rejections = async () =>
      (await first.must("GET", "/audit?event=KEY_REJECTED", { token })).json<
        { details: { error: string } }[]
      >();
    const [said, ...others] = await eventually("the other one says what is wrong", async () => {
      const found = await rejections();
      return found.length > 0 && found;
    });
    expect(said!.details.error).toContain(
      `key ${key_id} was made by another hub on this database, but not in WRIT_KEYS_DIR ${copy}: it is a copy`,
    );
    expect(others).toEqual([]);
    expect(told).toEqual([said!.details.error]);
    // Nothing of it was taken over by halves.
    expect(await keyIdsAt(copied)).not.toContain(key_id);
    expect(readdirSync(copy).some((name) => name.includes(key_id))).toBe(false);
    expect(readFileSync(join(copied.home, "logs", "hub.log"), "utf8")).toContain("it is a copy");
    const keysAt = async ({ home }: TestHub) => {
      const { stdout } = await runCli("writ", ["doctor", "--json", "--home", home], { env: {} });
      return stdout.split("\n").find((line) => line.includes('"check":"keys"'));
    };
    const found = await eventually("doctor says so too", async () => {
      const line = await keysAt(copied);
      return line?.includes('"state":"problem"') && line;
    });
    expect(found).toContain(`key ${key_id} was made by another hub on this database, but not in this hub's`);
    expect(await keysAt(sharing)).toContain('"state":"ok"');
  });

  test("a certificate that is revoked in one home is refused by the hubs of all homes that share the folder", async () => {
    const { start } = await installation();
    const shared = mkdtempSync(join(tmpdir(), "writ-shared-certs-"));
    onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
    const homes = ["a", "b"].map((name) => join(shared, name));
    for (const home of homes) {
      mkdirSync(join(shared, "certs"), { recursive: true, mode: 0o700 });
      mkdirSync(home, { mode: 0o700 });
      symlinkSync(join(shared, "certs"), join(home, "certs"));
    }
    const hubs = [await start({ home: homes[0]! }), await start({ home: homes[1]! })];
    const out = join(shared, "carol");
    const writ = (home: string, ...args: string[]) =>
      runCli("writ", ["certs", ...args, "--home", home], { env: {} });
    expect((await writ(homes[0]!, "issue", "--user", "carol", "--out", out)).code).toBe(0);
    const clients = hubs.map(({ home }) => {
      const { grpc_port: port } = JSON.parse(readFileSync(join(home, "hub.json"), "utf8"));
      const jobs = new JobsOverGrpc({ address: `127.0.0.1:${port}`, home: out, user: "carol" });
      onTestFinished(() => jobs.close());
      return jobs;
    });
    const id = await clients[0]!.start({ command: ["true"] });
    for (const jobs of clients) expect(await jobs.status(id)).toMatchObject({ state: "QUEUED" });
    expect((await writ(homes[1]!, "revoke", "--user", "carol")).code).toBe(0);
    for (const jobs of clients)
      await expect(jobs.status(id)).rejects.toMatchObject({
        code: "UNAUTHENTICATED",
        message: expect.stringContaining("revoked"),
      });
  });

  test("leases get more time from the first hub after all are gone, and from none that joins", async () => {
    const { url, start } = await installation();
    const first = await start();
    const { type } = await submitJob(first);
    await claimJob(first, { workerId: await registerWorker(first), type });
    const leaseEnd = async (): Promise<number> => {
      let end = 0;
      await withClient(url, async (client) => {
        const { rows } = await client.query("SELECT lease_expires_at AS end FROM writ.active");
        end = Number(rows[0].end);
      });
      return end;
    };
    const given = await leaseEnd();
    const second = await start();
    expect(await leaseEnd()).toBe(given);
    await first.stop();
    await eventually("the other leads", async () => (await healthOf(second)).leader);
    expect(await leaseEnd()).toBe(given);
    await second.stop();
    await start();
    expect(await leaseEnd()).toBeGreaterThan(given);
  });

  /** PostgreSQL looks for functions in our schema first. */
  const silence = (url: string) =>
    withClient(url, async (client) => {
      await client.query("CREATE SCHEMA IF NOT EXISTS writ");
      await client.query(
        "CREATE FUNCTION writ.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT NULL::void'",
      );
    });

  for (const isHeard of [true, false]) {
    describe(isHeard ? "that hear of each other" : "whose messages are all lost", () => {
      async function two(): Promise<[TestHub, TestHub]> {
        const { url, start } = await installation();
        if (!isHeard) await silence(url);
        return [await start(), await start()];
      }

      test("a claim that waits at one gets a job that was submitted at the other", async () => {
        const [a, b] = await two();
        const type = freshName("type");
        const workerId = await registerWorker(a);
        const body = { worker_id: workerId, types: [type], max: 1, wait_ms: 30_000 };
        const claim = a.must("POST", "/jobs/claim-batch", { token: a.admin, body });
        const waiting = async () => (await a.must("GET", "//metrics", { token: a.admin })).text;
        await eventually("it waits", async () => /^writ_waiting_workers 1$/m.test(await waiting()));
        const { id } = await submitJob(b, { type });
        expect((await claim).json<{ jobs: { id: string }[] }>().jobs.map((job) => job.id)).toEqual([id]);
      });

      test("output that is followed at one ends when the job ends at the other", async () => {
        const [a, b] = await two();
        const { id, type } = await submitJob(b);
        const { fence } = await claimJob(b, { workerId: await registerWorker(b), type });
        const followed = a.must("GET", `/jobs/${id}/output/stdout?follow=true`, { token: a.admin });
        await b.must("POST", `/jobs/${id}/result`, { token: b.admin, body: { ...fence, result: 1 } });
        expect((await followed).text).toBe("");
      });

      test("a reader of events at one hub sees events of the other", async () => {
        const [a, b] = await two();
        const stream = await openEventStream(a, "/jobs/events", { token: a.admin });
        onTestFinished(() => stream.cut());
        const { id } = await submitJob(b);
        await stream.until("the job is there", ({ data }) => data["id"] === id);
      });
    });
  }

  describe("hold together what is decided at one of them", () => {
    let a: TestHub;
    let b: TestHub;
    let stopBoth: () => Promise<void>;
    beforeAll(async () => {
      const { start, stopAll } = await lastingInstallation();
      stopBoth = stopAll;
      [a, b] = [await start(), await start()];
    });
    afterAll(() => stopBoth());

    test("a token that is revoked at one is refused by the other", async () => {
      const issue = await a.must("POST", "/tokens", { token: a.admin, body: { role: "user" } });
      const { id, token } = issue.json<{ id: string; token: string }>();
      await b.must("GET", "/jobs", { token });
      await a.must("DELETE", `/tokens/${id}`, { token: a.admin });
      await eventually("it is refused", async () => (await b.call("GET", "/jobs", { token })).status === 401);
    });

    test("a stream at one ends when its token is revoked at the other", async () => {
      const issue = await a.must("POST", "/tokens", { token: a.admin, body: { role: "user" } });
      const { id, token } = issue.json<{ id: string; token: string }>();
      const stream = await openEventStream(b, "/jobs/events", { token });
      await a.must("DELETE", `/tokens/${id}`, { token: a.admin });
      await stream.ended;
    });

    test("a worker learns at one hub that it was drained, or its job cancelled, at the other", async () => {
      const workerId = await registerWorker(a);
      const commands = await openEventStream(a, `/workers/${workerId}/commands`, { token: a.admin });
      onTestFinished(() => commands.cut());
      const { id, type } = await submitJob(b);
      await claimJob(a, { workerId, type });
      await b.must("DELETE", `/jobs/${id}`, { token: b.admin });
      await commands.until(
        "it is told of the cancel",
        ({ event, data }) => event === "cancel" && data["job_id"] === id,
      );
      await b.must("POST", `/workers/${workerId}/drain`, { token: b.admin });
      await commands.until("it is told to drain", ({ event }) => event === "drain");
    });

    test("a worker that is blocked at one is refused by the other", async () => {
      const workerId = await registerWorker(a);
      await b.must("POST", `/workers/${workerId}/block`, { token: b.admin });
      const claim = { token: a.admin, body: { worker_id: workerId, types: ["any"] } };
      await eventually(
        "it is refused",
        async () => (await a.call("POST", "/jobs/claim", claim)).status === 403,
      );
    });

    test("a key that is rotated at one hub signs at the other, and its workers learn of it", async () => {
      const workerId = await registerWorker(b);
      const commands = await openEventStream(b, `/workers/${workerId}/commands`, { token: b.admin });
      onTestFinished(() => commands.cut());
      await a.must("POST", "/keys/rotate", { token: a.admin, body: {} });
      await commands.until("it is told", ({ event }) => event === "keys");
      const keysOf = async (hub: TestHub) => (await hub.must("GET", "/keys", { token: hub.admin })).json();
      expect(await keysOf(b)).toEqual(await keysOf(a));
    });

    test("a lockdown at one hub ends claims that wait at the other, and allows none until it is lifted", async () => {
      const workerId = await registerWorker(b);
      const body = { worker_id: workerId, types: [freshName("type")], max: 1, wait_ms: 60_000 };
      const claim = b.call("POST", "/jobs/claim-batch", { token: b.admin, body });
      const waiting = async () => (await b.must("GET", "//metrics", { token: b.admin })).text;
      await eventually("it waits", async () => !/^writ_waiting_workers 0$/m.test(await waiting()));
      await a.must("POST", "/lockdown", { token: a.admin, body: { reason: "a test" } });
      expect((await claim).status).toBe(423);
      await a.must("DELETE", "/lockdown", { token: a.admin });
      const again = { ...body, wait_ms: 0 };
      expect((await b.call("POST", "/jobs/claim-batch", { token: b.admin, body: again })).status).toBe(204);
    });

    test("a cut stream of events continues at the other hub, without a gap and without a repetition", async () => {
      const type = freshName("type");
      const first = await openEventStream(a, "/jobs/events", { token: a.admin });
      const ids: string[] = [];
      const submit = async (hub: TestHub) => ids.push((await submitJob(hub, { type })).id);
      for (let n = 0; n < 10; n++) await submit(n % 2 === 0 ? a : b);
      await first.until("half of them have come", ({ data }) => data["id"] === ids[4]);
      const lastEventId = first.lastId();
      const seen = first.events.filter(({ data }) => data["type"] === type);
      first.cut();
      await submit(b);
      const second = await openEventStream(b, "/jobs/events", { token: b.admin, lastEventId: lastEventId! });
      onTestFinished(() => second.cut());
      await submit(a);
      await second.until("the last one has come", ({ data }) => data["id"] === ids.at(-1));
      const rest = second.events.filter(({ data }) => data["type"] === type);
      expect([...seen, ...rest].map(({ data }) => data["id"])).toEqual(ids);
    });
  });
});
