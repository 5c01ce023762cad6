import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { LimitsText } from "../../../src/core/limits.ts";
import { builtLauncherFile } from "../../../src/sandbox/launcher/launcher.ts";
import { eventually } from "../../support/eventually.ts";
import { lacks } from "../capabilities.ts";
import { Cgroup, ending } from "../cgroup.ts";
import { makeScratchFolder } from "../scratch-disk.ts";

/** Somebody who may nothing. */
const uid = 4711;
const runOneJob = join(import.meta.dirname, "../../sandbox/run-one-job.ts");
const describeHost = join(import.meta.dirname, "../describe-host.ts");
const forbidding = "/proc/sys/user/max_user_namespaces";

const cage = existsSync(builtLauncherFile) ? false : "not capable: the launcher was not built";
const controllers = ["cpu", "memory", "pids"].map((name) => `cgroup v2 controller ${name}`);
const skip = cage || lacks("user namespaces", "cgroup.kill", ...controllers);

type Job = { dir: string; worker: ChildProcess; ended: ReturnType<typeof ending>; remove(): void };
type Wanted = { limits: LimitsText; level?: "strict" };
type Start = (...words: string[]) => ChildProcess;

/** A worker of the user with one job. */
function startJob(start: Start, script: string, wanted: Wanted): Job {
  const folder = makeScratchFolder();
  chmodSync(folder.path, 0o777);
  const options = JSON.stringify({ uid, mayMove: true, timeoutSec: 600, ...wanted });
  const worker = start(process.execPath, runOneJob, folder.path, "job", script, options);
  const { path, remove } = folder;
  return { dir: join(path, "jobs/job"), worker, ended: ending(worker), remove };
}

async function runJob(start: Start, script: string, wanted: Wanted) {
  const job = startJob(start, script, wanted);
  assert.equal((await job.ended).code, 0);
  const read = (name: string): string => readFileSync(join(job.dir, name), "utf8");
  const isolation = JSON.parse(read("isolation.json")) as { applied: string[]; missing: { part: string }[] };
  const exit = JSON.parse(read("exit.json"));
  const ran = { isolation, exit, stdout: read("stdout.log"), stderr: read("stderr.log") };
  job.remove();
  return ran;
}

/** As the manager of a user's services has it: these and no other files belong to the user. */
class DelegatedCgroup extends Cgroup {
  constructor(parent?: string) {
    super(parent);
    for (const file of ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"])
      chownSync(join(this.path, file), uid, uid);
  }

  async removeAll(): Promise<void> {
    for (const name of ["writ/jobs", "writ/worker", "writ"]) {
      if (existsSync(join(this.path, name))) execFileSync("rmdir", [join(this.path, name)]);
    }
    await this.remove();
  }
}

test("a user with a delegated cgroup: strict is content, and a memory hog is killed as out of memory", {
  skip,
}, async () => {
  const service = new DelegatedCgroup();
  const start: Start = (program, ...args) => service.start(program!, ...args);
  const script = "sleep 600 & dd if=/dev/zero of=/dev/null bs=300M count=1; echo survived";
  const limits = { cpu: "1", memory: "48M", pids: 64 };
  const { isolation, exit, stdout } = await runJob(start, script, { level: "strict", limits });
  for (const part of ["cgroup", "namespaces: user", "jail", "cpu", "memory", "pids"])
    assert.ok(isolation.applied.includes(part), `${part} is not in ${isolation.applied}`);
  assert.deepEqual(
    isolation.applied.filter((name) => name.endsWith("rlimit")),
    [],
  );
  assert.deepEqual(isolation.missing, []);
  assert.equal(exit.usage.oom, true);
  assert.equal(exit.signal, "SIGKILL");
  assert.equal(stdout, "");
  await service.removeAll();
});

test("a user with a delegated cgroup: a CPU hog is throttled, and a fork bomb stops", { skip }, async () => {
  const service = new DelegatedCgroup();
  const start: Start = (program, ...args) => service.start(program!, ...args);
  const fuse = "(sleep 0.1; while :; do bomb; done) 2>/dev/null &";
  const script = `bomb() { bomb | bomb & wait; }; ${fuse} exec sh -c 'while :; do :; done'`;
  const job = startJob(start, script, { limits: { cpu: "200m", pids: 24 } });
  const cgroup = join(service.path, "writ/jobs/job");
  const count = (file: string, name: string): number => {
    const { exitCode } = job.worker;
    if (exitCode !== null) throw new Error(`the worker ended with ${exitCode}`);
    const text = existsSync(join(cgroup, file)) ? readFileSync(join(cgroup, file), "utf8") : "";
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  };
  // In steps, because a Node that starts cold under emulation takes most of the patience for itself.
  await eventually("the job has a cgroup", () => count("cgroup.events", "populated") > 0);
  await eventually("it is throttled", () => count("cpu.stat", "nr_throttled") > 0);
  await eventually("the bomb meets its limit", () => count("pids.events", "max") > 0);
  assert.ok(Number(readFileSync(join(cgroup, "pids.current"), "utf8")) <= 24);
  job.worker.kill("SIGKILL");
  await job.ended;
  await eventually("nothing is left", () => readFileSync(join(cgroup, "cgroup.procs"), "utf8") === "");
  execFileSync("rmdir", [cgroup]);
  job.remove();
  await service.removeAll();
});

test("a user in a session beside others gets limits in the cgroup above it, if that is theirs", {
  skip,
}, async () => {
  const manager = new DelegatedCgroup();
  const session = new DelegatedCgroup(manager.path);
  const other = session.start("/bin/sleep", "600");
  await eventually("it runs", () => session.pids().includes(other.pid!));
  const start: Start = (program, ...args) => session.start(program!, ...args);
  const { isolation } = await runJob(start, "true", { limits: { cpu: "1", memory: "48M", pids: 64 } });
  assert.deepEqual(isolation.missing, []);
  assert.ok(existsSync(join(manager.path, "writ/jobs")));
  assert.ok(session.pids().includes(other.pid!));
  await session.removeAll();
  await manager.removeAll();
});

test("a user without one gets rlimits, and they are called that", { skip }, async () => {
  const service = new Cgroup();
  const start: Start = (program, ...args) => service.start(program!, ...args);
  const script =
    "grep -E 'cpu time|processes' /proc/self/limits; dd if=/dev/zero of=/dev/null bs=1200M count=1 || echo refused";
  const limits: LimitsText = { cpu: "500m", memory: "64M", pids: 20 };
  const { isolation, stdout, exit } = await runJob(start, script, { limits });
  assert.deepEqual(
    isolation.applied.filter((name) => name.endsWith("rlimit")),
    ["cpu: rlimit", "memory: rlimit", "pids: rlimit", "file_size: rlimit"],
  );
  for (const part of ["cgroup", "cpu", "memory", "pids"]) {
    assert.ok(
      isolation.missing.some((one) => one.part === part),
      part,
    );
    assert.ok(!isolation.applied.includes(part), part);
  }
  assert.match(stdout, /^Max cpu time +300 +305 .*\nMax processes +20 +20 .*\nrefused\n$/);
  assert.equal(exit.exitCode, 0);
  await service.remove();
});

test("a host that forbids user namespaces runs jobs with what there is, and says so", { skip }, async () => {
  const before = readFileSync(forbidding, "utf8");
  writeFileSync(forbidding, "0");
  const folder = makeScratchFolder();
  chmodSync(folder.path, 0o777);
  chownSync(folder.path, uid, uid);
  try {
    const start: Start = (program, ...args) =>
      spawn(program!, args, { stdio: ["ignore", "ignore", "inherit"] });
    const { isolation, stdout } = await runJob(start, "id -u; grep Seccomp: /proc/self/status", {
      limits: {},
    });
    assert.deepEqual(isolation.applied, ["no_new_privs", "seccomp", "file_size: rlimit"]);
    assert.match(stdout, /^4711\nSeccomp:\s+2$/m);

    const told = JSON.parse(
      execFileSync(process.execPath, [describeHost, folder.path, String(uid)], { encoding: "utf8" }),
    );
    assert.equal(told.warnings.length, 1);
    assert.match(
      told.warnings[0],
      /^jobs are not caged: this host forbids user namespaces \(.*\), so jobs run as you/,
    );
    assert.match(told.strictObstacle, /namespaces: .*jail: /);
    assert.match(told.summary.text, /^jobs are not caged: this host forbids user namespaces/);
    assert.match(told.summary.advice, /^as root, run: sysctl -w user.max_user_namespaces=15000;/);
  } finally {
    writeFileSync(forbidding, before);
    folder.remove();
  }
});
