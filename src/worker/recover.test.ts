import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { DiscardFolder } from "../sandbox/discard-folder.ts";
import { recover } from "./recover.ts";

const attempt = { jobId: "job-a", attempt: 2, expiresAtTs: Math.floor(Date.now() / 1000) + 60 };

test("processes are ended before their directories are removed", async () => {
  const deps = await dirs();
  const left = join(deps.workDir, "jobs", "job-a", "1");
  mkdirSync(left, { recursive: true });
  writeFileSync(join(left, "stdout.log"), "not sent");
  const swept: { jobIds: readonly string[]; wereThere: boolean }[] = [];
  const sweep = async (jobIds: readonly string[]) => {
    swept.push({ jobIds, wereThere: existsSync(left) });
  };
  const ledger = await recover({ ...deps, sandbox: { sweep } });
  await ledger.close();
  expect(swept).toEqual([{ jobIds: ["job-a"], wereThere: true }]);
  expect(readdirSync(join(deps.workDir, "jobs"))).toEqual([]);
});

test("the folder of a job that was short so far is removed too, and its processes are ended before", async () => {
  const deps = await dirs();
  for (const name of ["jobs/job-a/1", "folders/job-a.1", "folders/job-b.12/output"])
    mkdirSync(join(deps.workDir, name), { recursive: true });
  let swept: readonly string[] = [];
  const sweep = async (jobIds: readonly string[]) => {
    expect(readdirSync(join(deps.workDir, "folders"))).toHaveLength(2);
    swept = jobIds;
  };
  await (await recover({ ...deps, sandbox: { sweep } })).close();
  expect(swept.toSorted()).toEqual(["job-a", "job-b"]);
  expect(readdirSync(join(deps.workDir, "folders"))).toEqual([]);
});

test("A18: a file that a killed worker was writing is removed when it is old", async () => {
  const deps = { ...(await dirs()), sandbox: { sweep: async () => {} } };
  const left = join(deps.workerDir, ".ledger.log.0123456789ab.tmp");
  writeFileSync(left, "half");
  await (await recover(deps)).close();
  expect(existsSync(left)).toBe(true);
  const twoDaysLater = { ...systemClock, nowMs: () => Date.now() + 172_800_000 };
  await (await recover({ ...deps, clock: twoDaysLater })).close();
  expect(existsSync(left)).toBe(false);
});

test("begun attempts are known after a restart, and half a line is ignored", async () => {
  const deps = { ...(await dirs()), sandbox: { sweep: async () => {} } };
  const before = await recover(deps);
  await before.admit([attempt]).saved;
  await before.close();
  appendFileSync(join(deps.workerDir, "ledger.log"), "job-b 1 17");
  const ledger = await recover(deps);
  onTestFinished(() => ledger.close());
  expect(ledger.admit([attempt, { ...attempt, jobId: "job-b", attempt: 1 }]).isNew).toEqual([false, true]);
});

async function dirs() {
  const root = mkdtempSync(join(tmpdir(), "writ-recover-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [workerDir, workDir] = [join(root, "worker"), join(root, "work")];
  mkdirSync(workerDir);
  mkdirSync(workDir);
  const discards = await DiscardFolder.open({ clock: systemClock, logger: silentLogger }, workDir);
  onTestFinished(() => discards.close());
  return { workerDir, workDir, clock: systemClock, logger: silentLogger, discards };
}
