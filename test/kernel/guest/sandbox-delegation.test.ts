import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { builtLauncherFile } from "../../../src/sandbox/launcher/launcher.ts";
import { eventually } from "../../support/eventually.ts";
import { lacks } from "../capabilities.ts";
import { Cgroup, ending } from "../cgroup.ts";
import { makeScratchFolder } from "../scratch-disk.ts";

const cage = existsSync(builtLauncherFile) ? false : "not capable: the launcher was not built";
const skip = cage || lacks("cgroup v2 controller memory", "cgroup v2 controller pids", "cgroup.kill");
const runOneJob = join(import.meta.dirname, "../../sandbox/run-one-job.ts");

/** Starts a worker's part in a cgroup as a service manager would, and gives where its job was and what it got. */
async function runInService(service: Cgroup) {
  const folder = makeScratchFolder();
  const script = "echo ready; while [ ! -e go ]; do sleep 0.05; done";
  const options = JSON.stringify({ mayMove: true });
  const worker = service.start(process.execPath, runOneJob, folder.path, "job", script, options);
  const ended = ending(worker);
  const isolationFile = join(folder.path, "jobs/job/isolation.json");
  // In steps, because a Node that starts cold under emulation takes most of the patience for itself.
  await eventually(
    "the worker has loaded",
    () => existsSync(join(folder.path, "jobs/job/work")) || failIfOver(worker),
  );
  await eventually(
    "the job has said something",
    () => existsSync(join(folder.path, "jobs/job/stdout.log")) || failIfOver(worker),
  );
  const isolation = await eventually("the job runs", () =>
    existsSync(isolationFile) ? JSON.parse(readFileSync(isolationFile, "utf8")) : failIfOver(worker),
  );
  const own = readFileSync(`/proc/${worker.pid}/cgroup`, "utf8").trim();
  const end = async () => {
    mkdirSync(join(folder.path, "jobs/job/work/go"));
    assert.equal((await ended).code, 0);
    folder.remove();
  };
  return { isolation, own, end };
}

function failIfOver({ exitCode, signalCode }: ChildProcess): null {
  if (exitCode === null && signalCode === null) return null;
  throw new Error(`the worker ended with ${signalCode ?? exitCode}`);
}

function removeTree(service: Cgroup): void {
  for (const name of ["writ/jobs", "writ/worker", "writ"]) {
    if (existsSync(join(service.path, name))) rmdirSync(join(service.path, name));
  }
}

test("a worker that is alone in its cgroup makes room for its jobs below it", { skip }, async () => {
  const service = new Cgroup();
  const { isolation, own, end } = await runInService(service);
  assert.match(own, /\/writ\/worker$/);
  assert.ok(existsSync(join(service.path, "writ/jobs/job")));
  assert.match(readFileSync(join(service.path, "writ/jobs/job/pids.max"), "utf8"), /^512$/m);
  assert.equal(isolation.level, "strict");
  assert.deepEqual(isolation.missing, []);
  await end();
  assert.ok(!existsSync(join(service.path, "writ/jobs/job")));
  removeTree(service);
  await service.remove();
});

test("one that shares its cgroup touches no other process, and uses the root of the hierarchy", {
  skip,
}, async () => {
  const service = new Cgroup();
  const other = service.start("/bin/sleep", "600");
  await eventually("it runs", () => service.pids().length > 0);
  const { isolation, own, end } = await runInService(service);
  assert.ok(own.endsWith(service.path.slice("/sys/fs/cgroup".length)), own);
  assert.ok(service.pids().includes(other.pid!));
  assert.ok(existsSync("/sys/fs/cgroup/writ/jobs/job"));
  assert.deepEqual(isolation.missing, []);
  await end();
  removeTree(service);
  await service.remove();
});
