import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { newestSchema } from "../../src/store/database/schema-steps.ts";
import { sqliteSteps } from "../../src/store/sqlite/database/schema-steps.ts";
import { isSafeVersion } from "../../src/store/sqlite/database/sqlite-version.ts";
import { origin, resultOf, Scene, sha256 } from "./scene.ts";
import { withDatabase } from "./sqlite-tamper.ts";
import { newSqliteUnderTest, sqliteUnderTest } from "./sqlite-under-test.ts";

const unavailable = { code: "STORE_UNAVAILABLE" };
const scenes: Scene[] = [];

async function openScene(settings: Parameters<typeof sqliteUnderTest>[0] = {}) {
  const under = sqliteUnderTest(settings);
  const scene = await Scene.open(under);
  scenes.push(scene);
  return { scene, path: under.path };
}

afterEach(async () => {
  for (const scene of scenes.splice(0)) await scene.end();
});

describe("the SQLite driver opens", () => {
  it("no SQLite whose write-ahead log can corrupt the database", () => {
    const unsafe = ["3.7.0", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.2"];
    expect(unsafe.filter(isSafeVersion)).toEqual([]);
    const safe = ["3.44.6", "3.50.7", "3.51.3", "3.52.0", "4.0.0"];
    expect(safe.filter(isSafeVersion)).toEqual(safe);
  });

  it("no database of a newer program", async () => {
    const under = sqliteUnderTest();
    const store = await under.open();
    await store.close();
    withDatabase(under.path, (database) => database.exec("PRAGMA user_version = 999"));
    await expect(under.open()).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining("schema 999"),
    });
    await under.remove();
  });

  it("no database of another program, in which nothing is changed", async () => {
    const under = newSqliteUnderTest();
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    withDatabase(under.path, (database) => {
      for (const name of names) database.exec(`CREATE TABLE ${name} (x)`);
      database.exec("CREATE VIEW h AS SELECT * FROM a; PRAGMA user_version = 3");
    });
    const before = readFileSync(under.path);
    await expect(under.open()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: `the file ${under.path} belongs to another program; it holds a, b, c, d, e and 3 more; name a file that does not exist yet`,
    });
    expect(readFileSync(under.path).equals(before)).toBe(true);
    await under.remove();
  });

  it("no file that is not a database, and no path that is not there", async () => {
    const under = newSqliteUnderTest();
    writeFileSync(under.path, "not a database, but long enough to be taken for one".repeat(100));
    await expect(under.open()).rejects.toMatchObject(unavailable);
    await under.remove();
    await expect(under.open()).rejects.toMatchObject(unavailable);
  });

  it("a database that only its owner can read, even when the file was open to others", async () => {
    const { scene, path } = await openScene();
    await scene.store.close();
    chmodSync(path, 0o644);
    await scene.reopen();
    await scene.submit();
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("a database whose migration was cut short, from the start", async () => {
    const failpointModule = new URL("./fixtures/failing-migration.ts", import.meta.url).href;
    const under = newSqliteUnderTest();
    const failing = newSqliteUnderTest({ path: under.path, failpointModule });
    await expect(failing.open()).rejects.toMatchObject(unavailable);
    const store = await under.open();
    expect((await store.ping()).schemaVersion).toBe(newestSchema(sqliteSteps()));
    await store.close();
    await under.remove();
    await failing.remove();
  });
});

describe("group commit", () => {
  it("shares one transaction among calls that arrive together", async () => {
    const groups: number[] = [];
    const { scene } = await openScene({ onTransaction: (acts) => groups.push(acts) });
    await Promise.all(Array.from({ length: 50 }, () => scene.submit()));
    expect(groups.reduce((sum, acts) => sum + acts)).toBe(50);
    expect(groups.length).toBeLessThan(10);
  });

  it("rolls back an act that throws, or is refused, without its neighbours", async () => {
    const { scene } = await openScene();
    const token = { id: "t", secretHash: "h", role: "user", tenantId: null, userId: "u" } as const;
    const rest = { workerId: null, createdAt: 1, expiresAt: null };
    const jobs = [scene.newJob(), scene.newJob({ idempotencyKey: "first", requestHash: "other" })];
    const settled = await Promise.allSettled([
      scene.submit({ idempotencyKey: "first", requestHash: "one" }),
      scene.submitAll(jobs),
      scene.store.createToken({ token: { ...token, ...rest }, origin }),
      scene.store.createToken({ token: { ...token, ...rest }, origin }),
      scene.submit(),
    ]);
    expect(settled.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(settled[1]).toMatchObject({ value: { kind: "mismatch", index: 1 } });
    expect((await scene.store.ping()).jobs.pending).toBe(2);
    expect(await scene.store.listQueues()).toMatchObject([{ pending: 2 }]);
    const events = await scene.store.readEvents({ afterSeq: 0, limit: 9 });
    expect(events.map(({ seq, event }) => [seq, event])).toEqual([
      [1, "JOB_CREATED"],
      [2, "TOKEN_ISSUED"],
      [3, "JOB_CREATED"],
    ]);
  });

  it("answers a call that cannot be understood with an error of its own", async () => {
    const { scene } = await openScene();
    const broken = { ...scene.newJob(), queueKey: "not a key" };
    const [bad, good] = await Promise.allSettled([scene.submitAll([broken]), scene.submit()]);
    expect(bad).toMatchObject({ status: "rejected", reason: { code: "INTERNAL" } });
    expect(good.status).toBe("fulfilled");
  });
});

describe("when the disk fails", () => {
  const failpointModule = new URL("./fixtures/failpoint.ts", import.meta.url).href;

  it("a failed sync is answered to everybody in the group, and the next act finds a new connection", async () => {
    const { scene } = await openScene({ failpointModule });
    const before = await scene.submit();
    const token = { id: "t", secretHash: "h", role: "user", tenantId: null, userId: "u" } as const;
    await scene.store.createToken({
      token: { ...token, workerId: null, createdAt: 1, expiresAt: null },
      origin,
    });
    const session = { secretHash: "s", tokenId: "t", expiresAt: 9, nowMs: 2, origin };
    const settled = await Promise.allSettled([
      scene.submit(),
      scene.store.createSession(session),
      scene.job(before),
    ]);
    expect(settled).toMatchObject([
      { status: "rejected", reason: unavailable },
      { status: "rejected", reason: unavailable },
      { status: "fulfilled", value: { id: before } },
    ]);
    expect((await scene.store.ping()).jobs.pending).toBe(1);
    expect((await scene.claim()).job.id).toBe(before);
  });

  it("a full disk refuses writes, answers reads, and goes on by itself", async () => {
    const { scene } = await openScene({ failpointModule });
    const id = await scene.submit();
    const paused = scene.store.setQueuePaused({ type: "build", paused: true, nowMs: 1, origin });
    const read = scene.job(id);
    await expect(paused).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining("full") });
    expect((await read).status).toBe("pending");
    expect((await scene.claim()).job.id).toBe(id);
  });
});

describe("when another program writes to the database", () => {
  it("waits a bounded time, then refuses, keeps reading, and loses nothing that was answered", async () => {
    const { scene, path } = await openScene({ busyTimeoutMs: 50 });
    const answered = await scene.submit();
    const other = new DatabaseSync(path, { timeout: 5_000 });
    other.exec("BEGIN EXCLUSIVE");
    await expect(scene.submit()).rejects.toMatchObject(unavailable);
    await expect(scene.store.ping()).rejects.toMatchObject(unavailable);
    expect((await scene.job(answered)).status).toBe("pending");
    other.exec("ROLLBACK");
    other.close();
    const later = await scene.submit();
    expect(await scene.claimIds(5)).toEqual([answered, later]);
  });

  it("sees what that program has changed", async () => {
    const { scene, path } = await openScene();
    const claimed = await scene.submitAndClaim();
    await scene.store.listJobs({ limit: 1 });
    const steal = `UPDATE jobs SET lease_token = '${sha256("other")}'`;
    withDatabase(path, (database) => database.exec(steal));
    expect(await scene.change(claimed, resultOf("1"))).toMatchObject({ code: "LEASE_LOST" });
  });
});

describe("when the process is killed at any moment", () => {
  it("every job that was answered for is there, and the database is whole", async () => {
    const under = sqliteUnderTest();
    const acked: string[] = [];
    for (let round = 0; round < 10; round++) {
      acked.push(...(await submitUntilKilled(under.path, round, 10 + Math.random() * 300)));
    }
    const store = await under.open();
    const stored = await Promise.all(acked.map((jobId) => store.getJob({ jobId })));
    expect(stored.filter((job) => job === null)).toHaveLength(0);
    const { jobs } = await store.ping();
    const events = await store.readEvents({ afterSeq: 0, limit: Number.MAX_SAFE_INTEGER });
    const seqs = events.map(({ seq }) => seq);
    await store.listJobs({ limit: 1 });
    await store.close();
    const database = new DatabaseSync(under.path);
    const one = (sql: string) => Object.values(database.prepare(sql).get()!)[0];
    expect(one("PRAGMA integrity_check")).toBe("ok");
    expect(one("SELECT count(*) FROM jobs WHERE status = 0")).toBe(jobs.pending);
    expect(one("SELECT sum(pending) FROM queues")).toBe(jobs.pending);
    expect(one("SELECT sum(active) FROM queues")).toBe(jobs.assigned);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    database.close();
    // Each child lived until it had answered for something; how much more it managed is the machine's affair.
    expect(acked.length).toBeGreaterThanOrEqual(10);
    await under.remove();
  });
});

/** Lets a child submit until it has answered for some jobs and a random while has passed, then kills it. */
async function submitUntilKilled(path: string, round: number, whileMs: number): Promise<string[]> {
  const script = fileURLToPath(new URL("./fixtures/submit-forever.ts", import.meta.url));
  const prefix = `0000000${round}`;
  const child = spawn(process.execPath, [script, path, prefix], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    if (output === "") setTimeout(() => child.kill("SIGKILL"), whileMs);
    output += text;
  });
  await once(child, "close");
  // The last line may be half written; then no caller has heard of it.
  return output.split("\n").slice(0, -1);
}
