import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backUp, planUpgrade, verifyAudit } from "../../src/hub/admin.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";

const databaseOf = (home: string) => join(home, "writ.sqlite");
const submit = (hub: TestHub) => hub.call("POST", "/jobs", { token: hub.admin, body: { type: "x" } });
const rolledBack = { code: "STORE_ROLLED_BACK" };

async function startedHub(env: Record<string, string> = {}): Promise<TestHub> {
  const hub = await startTestHub({ ...stillEnv, ...env });
  onTestFinished(() => rmSync(hub.home, { recursive: true, force: true }));
  return hub;
}

/** How far the home knows the log; it is noted every second. */
function notedSeq(home: string): number {
  return (JSON.parse(readFileSync(join(home, "database.json"), "utf8")) as { last_seq: number }).last_seq;
}

const losses: [string, (path: string) => unknown][] = [
  ["is removed", (path) => rmSync(path)],
  ["is removed with its log", (path) => ["", "-wal", "-shm"].map((suffix) => rmSync(`${path}${suffix}`))],
  ["loses its log", (path) => rmSync(`${path}-wal`)],
  [
    "is replaced by a copy",
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
];

test.each(losses)("A9: nothing is acknowledged after the database %s", async (_, act) => {
  const hub = await startedHub();
  await submitJob(hub);
  act(databaseOf(hub.home));
  expect(await submit(hub)).toMatchObject({ status: 503, code: "STORE_UNAVAILABLE" });
  // A reader looks at the file ten times a second at most, so it may have looked just before the loss.
  const list = async () => (await hub.call("GET", "/jobs", { token: hub.admin })).status;
  await eventually("lists to be refused", async () => (await list()) === 503);
  expect((await fetch(`${hub.url}/healthz`)).status).toBe(503);
  await hub.stop({ keepHome: true });
});

test("a note about the database that cannot be written is reported once", async () => {
  const hub = await startedHub();
  const path = join(hub.home, "database.json");
  await eventually("a first note", () => existsSync(path));
  rmSync(path);
  mkdirSync(path);
  const reports = () =>
    readFileSync(join(hub.home, "logs", "hub.log"), "utf8").split("database.json could not").length - 1;
  await submitJob(hub);
  await eventually("a report", () => reports() > 0);
  await submitJob(hub);
  rmSync(path, { recursive: true });
  await eventually("the next note", () => existsSync(path));
  expect(reports()).toBe(1);
  await hub.stop();
});

test("A9: a database that is put back is used again", async () => {
  const hub = await startedHub();
  const path = databaseOf(hub.home);
  renameSync(path, `${path}.away`);
  expect(await submit(hub)).toMatchObject({ status: 503 });
  renameSync(`${path}.away`, path);
  expect(await submit(hub)).toMatchObject({ status: 201 });
  await hub.stop();
});

test("A9: people are alerted at once although the outbox is lost with the database", async () => {
  let received = "";
  const hook = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (text: string) => {
      received += text;
    });
    request.on("end", () => response.end());
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void hook.close());
  await once(hook, "listening");
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
  const hub = await startedHub({ WRIT_WEBHOOK_URL: url, WRIT_WEBHOOK_SECRET: "s".repeat(32) });
  rmSync(databaseOf(hub.home));
  await expect.poll(() => received).toContain("STORE_LOST");
  await hub.stop({ keepHome: true });
});

test("A9: a hub whose home knows a database starts with an empty one only after a person accepts the loss", async () => {
  const hub = await startedHub();
  const { id } = await submitJob(hub);
  await hub.stop({ keepHome: true });
  const path = databaseOf(hub.home);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  await expect(startTestHub(stillEnv, { home: hub.home })).rejects.toMatchObject({
    ...rolledBack,
    message: expect.stringContaining("--accept-loss 0"),
  });
  expect(existsSync(path)).toBe(false);
  const again = await startTestHub(stillEnv, { home: hub.home, acceptLoss: 0 });
  expect((await again.call("GET", `/jobs/${id}`, { token: again.admin })).status).toBe(404);
  const { text } = await eventually("the record to be sealed", async () => {
    const answer = await again.must("GET", "/audit?event=STORE_ROLLED_BACK", { token: again.admin });
    return answer.text !== "[]" && answer;
  });
  await again.stop({ keepHome: true });
  expect(text).toContain("known_seq");
  expect((await verifyAudit({ home: hub.home, env: {} })).faults).toEqual([]);
  // Accepted once is accepted: the next start asks nothing.
  await (await startTestHub(stillEnv, { home: hub.home })).stop({ keepHome: true });
});

test("A9: an older copy is refused with the number of its last record, and only that number accepts it", async () => {
  const hub = await startedHub();
  const { id: early } = await submitJob(hub);
  await hub.stop({ keepHome: true });
  const path = databaseOf(hub.home);
  copyFileSync(path, `${path}.old`);
  const second = await startTestHub(stillEnv, { home: hub.home });
  const { id: late } = await submitJob(second);
  await second.stop({ keepHome: true });
  renameSync(`${path}.old`, path);
  const refusal = await startTestHub(stillEnv, { home: hub.home }).then(
    () => null,
    (error: Error) => error,
  );
  expect(refusal).toMatchObject({
    ...rolledBack,
    message: expect.stringContaining("has lost its newest part"),
  });
  const found = Number(/--accept-loss (\d+)/.exec(refusal!.message)![1]);
  const accept = (acceptLoss: number) => startTestHub(stillEnv, { home: hub.home, acceptLoss });
  await expect(accept(found - 1)).rejects.toMatchObject(rolledBack);
  const third = await accept(found);
  expect(await jobReader(third)(early)).toMatchObject({ status: "pending" });
  expect((await third.call("GET", `/jobs/${late}`, { token: third.admin })).status).toBe(404);
  await third.stop({ keepHome: true });
  expect((await verifyAudit({ home: hub.home, env: {} })).faults).toEqual([]);
});

test("A9: a log file that was cut after a crash is noticed", async () => {
  const hub = await startedHub();
  const path = databaseOf(hub.home);
  const before = notedSeq(hub.home);
  await submitJob(hub);
  await expect.poll(() => notedSeq(hub.home)).toBeGreaterThan(before);
  // As a crash leaves them, except the end of the log.
  const files = new Map(["", "-wal"].map((suffix) => [suffix, readFileSync(`${path}${suffix}`)]));
  const known = readFileSync(join(hub.home, "database.json"));
  await hub.stop({ keepHome: true });
  for (const [suffix, bytes] of files) writeFileSync(`${path}${suffix}`, bytes, { mode: 0o600 });
  rmSync(join(hub.home, "audit-heads.ndjson"));
  writeFileSync(join(hub.home, "database.json"), known);
  truncateSync(`${path}-wal`, 0);
  await expect(startTestHub(stillEnv, { home: hub.home })).rejects.toMatchObject(rolledBack);
});

test("A9: another database than the home's own is refused", async () => {
  const keys = { WRIT_KEYS_DIR: join((await startedHub()).home, "keys") };
  const one = await startedHub(keys);
  const other = await startedHub(keys);
  for (let index = 0; index < 20; index++) await submitJob(other);
  await one.stop({ keepHome: true });
  await other.stop({ keepHome: true });
  copyFileSync(databaseOf(other.home), databaseOf(one.home));
  await expect(startTestHub({ ...stillEnv, ...keys }, { home: one.home })).rejects.toMatchObject({
    ...rolledBack,
    message: expect.stringContaining("is not the one that this home used"),
  });
});

test("commands on a home whose database is elsewhere say which setting they lack, and make none", async () => {
  const hub = await startedHub();
  await submitJob(hub);
  await hub.stop({ keepHome: true });
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${databaseOf(hub.home)}${suffix}`, { force: true });
  const call = { home: hub.home, env: {} };
  const lack = {
    code: "CONFIG_INVALID",
    message: expect.stringContaining("WRIT_DATABASE_URL is not set here"),
  };
  await expect(planUpgrade(call)).rejects.toMatchObject(lack);
  await expect(verifyAudit(call)).rejects.toMatchObject(lack);
  const copy = { file: join(hub.home, "b"), passphrase: "long enough for it", version: "0", nowMs: 0 };
  await expect(backUp({ ...call, ...copy })).rejects.toMatchObject(lack);
  const start = startTestHub(stillEnv, { home: hub.home });
  await expect(start).rejects.toThrow("WRIT_DATABASE_URL is not set here");
  expect(existsSync(databaseOf(hub.home))).toBe(false);
});
