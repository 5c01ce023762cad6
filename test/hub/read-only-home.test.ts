import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { completedJob } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";

// A home on a disk that is mounted read-only, such as a snapshot or a copy that is kept as evidence.
const isRoot = process.getuid?.() === 0;

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-read-only-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The home of a hub that has stopped, with a job in it. */
async function stoppedHome(): Promise<string> {
  const hub = await startTestHub(stillEnv, { home: join(scratch(), "home") });
  await completedJob(hub);
  await hub.stop({ keepHome: true });
  return hub.home;
}

function mountedReadOnly(home: string): string {
  const at = join(scratch(), "at");
  mkdirSync(at);
  execFileSync("mount", ["--bind", home, at]);
  onTestFinished(() => void execFileSync("umount", ["-l", at]));
  execFileSync("mount", ["-o", "remount,ro,bind", at]);
  return at;
}

const writ = (home: string, ...words: string[]) => runCli("writ", [...words, "--home", home], { env: {} });

test.skipIf(!isRoot)("a read-only home whose hub has stopped can be examined", async () => {
  const home = mountedReadOnly(await stoppedHome());
  const verdict = await writ(home, "audit", "verify", "--seals");
  expect([verdict.code, verdict.stderr]).toEqual([0, ""]);
  expect(verdict.stdout).toContain("intact");
  const check = await writ(home, "upgrade-check");
  expect([check.code, check.stderr]).toEqual([0, ""]);
  expect(check.stdout).toContain("the next start changes nothing");
  const doctor = await writ(home, "doctor", "--hub", "http://127.0.0.1:9", "--json");
  expect(doctor.stdout).toContain('"check":"schema","state":"ok"');
});

test.skipIf(!isRoot)("a command that has to write in a read-only home says so, and what to do", async () => {
  const home = mountedReadOnly(await stoppedHome());
  const words = join(scratch(), "words");
  writeFileSync(words, "twelve and more\n", { mode: 0o600 });
  const backup = await writ(home, "backup", join(scratch(), "b.writ"), "--passphrase-file", words);
  expect(backup.code).toBe(2);
  expect(backup.stderr).toContain(`${home} cannot be written (EROFS), and a backup makes a copy there first`);
  expect(backup.stderr).toContain("copy the home to a disk that can be written");
  const hub = await writ(home, "hub");
  expect(hub.code).toBe(2);
  expect(hub.stderr).toContain(`${home} is on a disk that is mounted read-only, and a hub writes there`);
});

test.skipIf(!isRoot)("a read-only home whose hub was killed is refused with what to do", async () => {
  const whole = await stoppedHome();
  const file = join(whole, "writ.sqlite");
  const open = new DatabaseSync(file);
  open.exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  const copy = scratch();
  execFileSync("cp", ["-a", `${whole}/.`, copy]);
  open.close();
  rmSync(join(copy, "writ.sqlite-shm"));
  expect(existsSync(join(copy, "writ.sqlite-wal"))).toBe(true);
  const verdict = await writ(mountedReadOnly(copy), "audit", "verify");
  expect(verdict.code).not.toBe(0);
  expect(verdict.stderr).toContain("copy its whole folder to another disk, and use the copy");
});
