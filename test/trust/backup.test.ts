import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backUp, restore, verifyAudit } from "../../src/hub/admin.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { readStatuses, tamperWith } from "../support/database.ts";
import { editRecord, forgeDocuments, keepReceiptAs } from "../support/edit-database.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import {
  claimedJob,
  claimJob,
  completedJob,
  jobReader,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { runCommand } from "../support/run-command.ts";
import { hubForAll } from "../support/use-hub.ts";

const isRoot = process.getuid?.() === 0;
const passphrase = "twelve and more";
const hub = hubForAll(stillEnv);

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-backup-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Some time ago: what is taken back is due again after five seconds, and no test has to wait for that. */
const clock = { ...systemClock, nowMs: () => systemClock.nowMs() - 60_000 };
const backUpTo = (file: string, home = hub.home, env = {}) =>
  backUp({ home, env, file, passphrase, version: "0.0.0-test", nowMs: clock.nowMs() });
const restoreTo = (home: string, file: string, env = {}) =>
  restore({ home, env, file, passphrase, osUser: "root", clock });

/** A backup of a hub of its own, whose database somebody has been at before. */
async function tamperedBackup(edit: (home: string) => unknown): Promise<string> {
  const victim = await startTestHub(stillEnv);
  await completedJob(victim);
  await submitJob(victim);
  await victim.stop({ keepHome: true });
  onTestFinished(() => rmSync(victim.home, { recursive: true, force: true }));
  await edit(victim.home);
  const file = join(folder(), "backup.writ");
  await backUpTo(file, victim.home);
  return file;
}

test("a backup needs a hub, a new file and a passphrase that is not short", async () => {
  const dir = folder();
  await expect(backUpTo(join(dir, "b"), join(dir, "nowhere"))).rejects.toThrow(/no hub has run in/);
  const file = join(dir, "taken");
  writeFileSync(file, "mine");
  await expect(backUpTo(file)).rejects.toThrow(/taken already exists/);
  expect(readFileSync(file, "utf8")).toBe("mine");
  const words = join(dir, "words");
  writeFileSync(words, "short\n", { mode: 0o600 });
  expect(
    await runCommand("writ", ["backup", "b", "--passphrase-file", words], { home: hub.home, cwd: dir }),
  ).toMatchObject({ exitCode: 2 });
  // A test has no person at a terminal.
  expect(await runCommand("writ", ["backup", "b"], { home: hub.home, cwd: dir })).toMatchObject({
    exitCode: 2,
  });
  expect(readdirSync(dir).sort()).toEqual(["taken", "words"]);
});

test("a folder that does not exist is named, and not the temporary file in it", async () => {
  const dir = join(folder(), "nodir");
  await expect(backUpTo(join(dir, "b.writ"))).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: `file: the folder ${dir} does not exist`,
  });
});

test.skipIf(!isRoot)(
  `a full disk is named, of the file and of the home${isRoot ? "" : " (not capable: not root)"}`,
  async () => {
    const file = join(smallDisk("4k"), "b.writ");
    await expect(backUpTo(file)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `the disk of ${dirname(file)} is full: b.writ was not written`,
    });
    expect(readdirSync(dirname(file))).toEqual([]);
    const victim = await startTestHub(stillEnv, { home: smallDisk("3m") });
    await victim.stop({ keepHome: true });
    execFileSync("sh", ["-c", 'cat /dev/zero > "$0" 2>/dev/null || true', join(victim.home, "filler")]);
    await expect(backUpTo(join(folder(), "b.writ"), victim.home)).rejects.toMatchObject({
      message: expect.stringContaining(`the disk of ${victim.home} is full: a backup needs room`),
    });
  },
);

function smallDisk(size: string): string {
  const dir = folder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "writ-test", dir]);
  onTestFinished(() => void execFileSync("umount", ["-l", dir]));
  return dir;
}

test("a home that is in use, a wrong passphrase and a damaged file are refused, and nothing is left", async () => {
  const dir = folder();
  const file = join(dir, "backup.writ");
  await backUpTo(file);
  await expect(restoreTo(hub.home, file)).rejects.toThrow(/is not empty/);
  await expect(restoreTo(join(dir, "home"), join(dir, "none"))).rejects.toThrow(/none does not exist/);
  const wrong = { home: join(dir, "home"), env: {}, file, passphrase: "another one", osUser: "root", clock };
  await expect(restore(wrong)).rejects.toThrow(/the passphrase is wrong/);
  const bytes = readFileSync(file);
  bytes[bytes.length - 20]! ^= 1;
  writeFileSync(join(dir, "damaged"), bytes);
  await expect(restoreTo(join(dir, "home"), join(dir, "damaged"))).rejects.toThrow(/damaged/);
  expect(readdirSync(dir).sort()).toEqual(["backup.writ", "damaged"]);
});

const prioritise = async (home: string) => {
  for (const [id, status] of readStatuses(home))
    if (status === "pending") await tamperWith(home).editJob(id, "priority", 10);
};

test.each([
  ["a document", forgeDocuments, /does not match its seal/],
  ["where a job goes", prioritise, /does not match its seal/],
  [
    "whose receipt was kept",
    (home: string) => keepReceiptAs(home, "00000000-0000-4000-8000-000000000000"),
    /job 0{8}-.* does not match its seal/,
  ],
  ["an audit record", (home: string) => editRecord(home, 3), /audit record 3 was changed/],
])("a database in which %s was edited is not restored", async (_, edit, what) => {
  const file = await tamperedBackup(edit);
  const home = join(folder(), "home");
  const error = await restoreTo(home, file).then(
    () => null,
    (thrown: Error & { details: { list: string } }) => thrown,
  );
  expect(error?.message).toMatch(/its database is damaged or was tampered with/);
  expect(error?.details.list).toMatch(what);
  expect(existsSync(home)).toBe(false);
});

test("B12: a backup says what a restore will refuse, and a person can accept damaged jobs", async () => {
  const victim = await startTestHub(stillEnv);
  onTestFinished(() => victim.stop());
  const { id } = await completedJob(victim);
  await forgeDocuments(victim.home);
  const dir = folder();
  const file = join(dir, "backup.writ");
  const fault = `job ${id} does not match its seal`;
  expect((await backUpTo(file, victim.home)).faults).toEqual([fault]);
  writeFileSync(join(dir, "words"), `${passphrase}\n`, { mode: 0o600 });
  const command = ["backup", "again.writ", "--passphrase-file", "words"];
  expect(await runCommand("writ", command, { home: victim.home, cwd: dir })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(fault),
  });
  expect(existsSync(join(dir, "again.writ"))).toBe(true);
  await expect(restoreTo(join(dir, "home"), file)).rejects.toThrow(/--accept-damaged/);
  const accepted = { home: join(dir, "home"), env: {}, file, passphrase, osUser: "root", clock };
  expect(await restore({ ...accepted, acceptDamaged: true })).toMatchObject({ damaged: [id], refused: 0 });
});

test("B12: a job that the hub has already refused does not make a backup worthless", async () => {
  const victim = await startTestHub(stillEnv);
  onTestFinished(() => victim.stop());
  const { id, type } = await submitJob(victim);
  await tamperWith(victim.home).editJob(id, "priority", 9);
  const workerId = await registerWorker(victim);
  const body = { worker_id: workerId, types: [type] };
  expect(await victim.call("POST", "/jobs/claim", { token: victim.admin, body })).toMatchObject({
    status: 204,
  });
  const dir = folder();
  const file = join(dir, "backup.writ");
  expect((await backUpTo(file, victim.home)).faults).toEqual([]);
  const home = join(dir, "home");
  expect(await restoreTo(home, file)).toMatchObject({ damaged: [], refused: 1 });
  const second = await startTestHub(stillEnv, { home });
  onTestFinished(() => second.stop());
  expect(await jobReader(second)(id)).toMatchObject({
    fail_code: "SECURITY_VIOLATION",
    damaged: ["document"],
  });
});

test("a hub that runs is backed up, and goes on where it was in another place", async () => {
  const done = await completedJob(hub);
  const held = await claimedJob(hub);
  const pending = await submitJob(hub);
  const spent = await runningJob(hub, { max_attempts: 1 });
  const dir = folder();
  const file = join(dir, "backup.writ");
  expect(await backUpTo(file)).toMatchObject({ file, bytes: statSync(file).size });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const secret of [hub.admin, "PRIVATE KEY", done.id]) {
    expect(readFileSync(file).includes(secret)).toBe(false);
  }
  expect(readdirSync(hub.home).filter((name) => name.startsWith(".backup"))).toEqual([]);
  // What happens after it is not in it.
  const later = await submitJob(hub);

  const home = join(dir, "home");
  const restored = await restoreTo(home, file);
  expect(restored).toMatchObject({ home, recalled: 1, ended: 1 });
  expect(restored.seals).toBeGreaterThanOrEqual(3);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);

  const second = await startTestHub(stillEnv, { home });
  onTestFinished(() => second.stop());
  expect(second.admin).toBe(hub.admin);
  const read = jobReader(second);
  expect(await read(done.id)).toMatchObject({ status: "completed" });
  expect(await read(spent.id)).toMatchObject({ status: "failed", fail_code: "WORKER_DISCONNECTED" });
  expect(await second.call("GET", `/jobs/${later.id}`, { token: second.admin })).toMatchObject({
    status: 404,
  });
  const keys = async (of: typeof hub) =>
    (await of.must("GET", "/keys", { token: of.admin })).json<{ keys: unknown }>().keys;
  expect(await keys(second)).toEqual(await keys(hub));

  // Not an attempt that the first hub may have given out since.
  const workerId = await registerWorker(second);
  const again = await claimJob(second, { workerId, type: held.type });
  expect(again).toMatchObject({ id: held.id, fence: { attempt: 1002 } });
  expect(await claimJob(second, { workerId, type: pending.type })).toMatchObject({
    fence: { attempt: 1001 },
  });
  const stale = await second.call("POST", `/jobs/${held.id}/result`, {
    token: second.admin,
    body: { ...held.fence, result: null },
  });
  expect(stale).toMatchObject({ status: 409 });
  expect((await second.must("GET", "/audit?event=HUB_RESTORED", { token: second.admin })).text).toContain(
    '"recalled":2',
  );
});

test("database and keys go where the settings want them, unless something is there", async () => {
  const dir = folder();
  const file = join(dir, "backup.writ");
  await backUpTo(file);
  const env = { SQLITE_PATH: join(dir, "data.sqlite"), WRIT_KEYS_DIR: join(dir, "keys") };
  writeFileSync(env.SQLITE_PATH, "");
  await expect(restoreTo(join(dir, "home"), file, env)).rejects.toThrow(
    /SQLITE_PATH: .*data.sqlite already exists/,
  );
  rmSync(env.SQLITE_PATH);
  await restoreTo(join(dir, "home"), file, env);
  expect(existsSync(join(dir, "home", "writ.sqlite"))).toBe(false);
  expect((await verifyAudit({ home: join(dir, "home"), env })).faults).toEqual([]);
  const again = join(dir, "again.writ");
  await backUpTo(again, join(dir, "home"), env);
  await restoreTo(join(dir, "home-2"), again);
  expect((await verifyAudit({ home: join(dir, "home-2"), env: {} })).faults).toEqual([]);
});

test("keys are restored into the empty folder that somebody has made for them", async () => {
  const dir = folder();
  const file = join(dir, "backup.writ");
  await backUpTo(file);
  const env = { WRIT_KEYS_DIR: join(dir, "keys") };
  mkdirSync(env.WRIT_KEYS_DIR);
  await restoreTo(join(dir, "home"), file, env);
  expect((await verifyAudit({ home: join(dir, "home"), env })).faults).toEqual([]);
  await expect(restoreTo(join(dir, "home-2"), file, env)).rejects.toThrow(
    /WRIT_KEYS_DIR: .*keys has keys already/,
  );
});

test("both commands say what they did, to people and to programs", async () => {
  const dir = folder();
  writeFileSync(join(dir, "words"), `${passphrase}\n`, { mode: 0o600 });
  const words = ["--passphrase-file", "words"];
  const made = await runCommand("writ", ["backup", "b.writ", ...words], { home: hub.home, cwd: dir });
  expect(made).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/b\.writ holds \d+ files in \d+ bytes/),
  });
  const home = join(dir, "home");
  const back = await runCommand("writ", ["restore", "b.writ", "--json", ...words], { home, cwd: dir });
  expect(back.exitCode).toBe(0);
  expect(JSON.parse(back.stdout)).toMatchObject({
    home,
    records: expect.any(Number),
    seals: expect.any(Number),
  });
});
