import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type LimitsText, resolveLimits } from "../../../src/core/limits.ts";
import { effectiveLimits } from "../../../src/runners/effective-limits.ts";
import { systemClock } from "../../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../../src/runtime/log/logger.ts";
import { CagedSandbox } from "../../../src/sandbox/caged-sandbox.ts";
import { builtLauncherFile } from "../../../src/sandbox/launcher/launcher.ts";
import type { LaunchPlan, RunningProcess } from "../../../src/sandbox/sandbox.ts";
import { createTerminator } from "../../../src/sandbox/terminate.ts";
import { eventually } from "../../support/eventually.ts";
import { lacks } from "../capabilities.ts";
import { makeScratchFolder } from "../scratch-disk.ts";

const mib = 1024 ** 2;
const cage = existsSync(builtLauncherFile) ? false : "not capable: the launcher was not built";
const needs = (...names: string[]): { skip: string | false } => ({ skip: cage || lacks(...names) });

const scratch = makeScratchFolder();
let sandbox: CagedSandbox;

before(async () => {
  if (cage === false) sandbox = await openSandbox();
});
after(async () => {
  await sandbox?.close();
  scratch.remove();
});

function openSandbox(): Promise<CagedSandbox> {
  return CagedSandbox.open({
    workDir: scratch.path,
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: process.getuid!(),
    mayMove: false,
  });
}

let jobs = 0;

function planScript(script: string, limits: LimitsText): LaunchPlan {
  jobs += 1;
  const jobId = `limits-${process.pid}-x${jobs}x`;
  const dir = join(scratch.path, "jobs", jobId);
  const workDir = join(dir, "work");
  mkdirSync(workDir, { recursive: true });
  return {
    jobId,
    attempt: 1,
    argv: ["sh", "-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: sandbox.workDirInside(workDir),
    stdoutFile: join(dir, "stdout.log"),
    stderrFile: join(dir, "stderr.log"),
    outputBytesMax: mib,
    ...effectiveLimits(limits, { limits: {}, maxLimits: {} }),
    workDir,
  };
}

type Started = { running: RunningProcess; plan: LaunchPlan; cgroup: string; said(): string };

async function start(script: string, limits: LimitsText = {}): Promise<Started> {
  const plan = planScript(script, limits);
  const running = await sandbox.start(plan);
  const cgroup = join(sandbox.facts.jobsDir!, plan.jobId);
  return { running, plan, cgroup, said: () => readFileSync(plan.stdoutFile, "utf8") };
}

async function startUntilReady(script: string, limits: LimitsText = {}): Promise<Started> {
  const started = await start(script, limits);
  await eventually("the job is ready", () => started.said().includes("ready"));
  return started;
}

async function stop({ running }: Started, graceMs = 0): Promise<void> {
  await createTerminator(running, systemClock).stop("stopped", { graceMs });
}

function read(cgroup: string, file: string): string {
  return readFileSync(join(cgroup, file), "utf8").trim();
}

function count(cgroup: string, file: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(read(cgroup, file))?.[1]);
}

function processesWith(text: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        Number(pid) !== process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)
      );
    } catch {
      return false;
    }
  });
}

const allControllers = ["cpu", "memory", "io", "pids"].map((name) => `cgroup v2 controller ${name}`);

test("strict is the default here, and everything is applied", needs(...allControllers), async () => {
  assert.equal(sandbox.level, "strict");
  const limits = { cpu: "500m", memory: "100M", io: "low", pids: 64, network: "none" } as const;
  const { running } = await start("true", limits);
  assert.deepEqual(running.isolation.missing, []);
  for (const part of ["cgroup", "jail", "seccomp", "network", "cpu", "memory", "io", "pids"]) {
    assert.ok(running.isolation.applied.includes(part), part);
  }
  assert.equal((await running.exited).exitCode, 0);
});

test("each limit stands in the job's cgroup as the kernel takes it", needs(...allControllers), async () => {
  const job = await startUntilReady("echo ready; exec sleep 600", {
    cpu: "1.5",
    memory: "100M",
    io: "med",
    pids: 77,
  });
  assert.equal(read(job.cgroup, "cpu.max"), "150000 100000");
  assert.equal(read(job.cgroup, "memory.max"), String(100 * mib));
  assert.equal(read(job.cgroup, "memory.swap.max"), "0");
  assert.equal(read(job.cgroup, "memory.oom.group"), "1");
  assert.equal(read(job.cgroup, "pids.max"), "77");
  const io = `${sandbox.facts.disk} rbps=${10 * mib} wbps=${10 * mib} riops=max wiops=max`;
  assert.equal(read(job.cgroup, "io.max"), io);
  await stop(job);
  assert.ok(!existsSync(job.cgroup));
});

test(
  "a memory hog is killed alone, out of memory is its reason, and its neighbour finishes",
  needs("memory.max"),
  async () => {
    const neighbour = await startUntilReady("echo ready; while [ ! -e go ]; do sleep 0.05; done; echo done", {
      memory: "64M",
    });
    const hog = await start("sleep 600 & dd if=/dev/zero of=/dev/null bs=300M count=1; echo survived", {
      memory: "48M",
    });
    const exit = await hog.running.exited;
    assert.equal(exit.usage.oom, true);
    assert.equal(exit.signal, "SIGKILL");
    assert.equal(hog.said(), "");
    assert.ok((exit.usage.memory_peak_bytes ?? 0) > 40 * mib);
    assert.ok(!existsSync(hog.cgroup));

    mkdirSync(join(neighbour.plan.workDir, "go"));
    const { exitCode, usage } = await neighbour.running.exited;
    assert.equal(exitCode, 0);
    assert.equal(usage.oom, undefined);
    assert.equal(neighbour.said(), "ready\ndone\n");
  },
);

test(
  "what a job writes to its /tmp counts as its memory, and /tmp is no larger",
  needs("memory.max"),
  async () => {
    const small = await start("dd if=/dev/zero of=/tmp/x bs=1M count=64 2>&1; ls -l /tmp/x", {
      memory: "16M",
    });
    const exit = await small.running.exited;
    assert.ok(exit.usage.oom === true || small.said().includes("No space left"), small.said());
  },
);

test(
  "a fork bomb stops at pids.max, and a neighbour can still start processes",
  needs("pids.max"),
  async () => {
    // A shell that cannot fork ends. The job's own has done all its forking before the bomb goes off, so it lives on.
    const fuse = "(sleep 0.1; while :; do bomb; done) 2>/dev/null &";
    const bomb = await start(`bomb() { bomb | bomb & wait; }; ${fuse} exec sleep 600`, { pids: 24 });
    await eventually("the limit is met", () => count(bomb.cgroup, "pids.events", "max") > 0);
    assert.ok(Number(read(bomb.cgroup, "pids.current")) <= 24);
    const neighbour = await start("for i in 1 2 3; do /bin/true || exit 1; done", { pids: 24 });
    assert.equal((await neighbour.running.exited).exitCode, 0);
    assert.ok(Number(read(bomb.cgroup, "pids.current")) <= 24);
    await stop(bomb);
    assert.ok(!existsSync(bomb.cgroup));
  },
);

test(
  "processes and disk are counted while a job runs and when it has ended",
  needs(...allControllers),
  async () => {
    const write = "dd if=/dev/zero of=data bs=1M count=4 conv=fsync 2>/dev/null";
    const job = await startUntilReady(`sleep 600 & sleep 600 & ${write}; echo ready; wait`);
    const now = job.running.usage();
    assert.ok((now.pids ?? 0) >= 3, `${now.pids} processes`);
    assert.ok((now.memory_bytes ?? 0) > 0);
    assert.ok((now.io_write_bytes ?? 0) >= 4 * mib, `${now.io_write_bytes} bytes written`);
    await stop(job);
    const { usage } = await job.running.exited;
    assert.ok((usage.io_write_bytes ?? 0) >= 4 * mib);
    // Kernels before 6.11 do not keep the peak.
    if (now.pids_peak !== undefined) assert.ok((usage.pids_peak ?? 0) >= 3);
    assert.equal(usage.pids, undefined);
  },
);

test("a job of one process runs", needs("pids.max"), async () => {
  const { running } = await start("echo alone", { pids: 1 });
  assert.equal((await running.exited).exitCode, 0);
});

test("a CPU hog of many processes gets its quota within a tenth", needs("cpu.max"), async () => {
  const hog = await startUntilReady("for i in 1 2 3 4; do (while :; do :; done) & done; echo ready; wait", {
    cpu: "300m",
  });
  // A busy host takes the machine's processors away now and then, and what they were at counts as if it had run on:
  // such a stretch says nothing, so one of several has to be right. Without the quota none would be.
  const shares: number[] = [];
  while (shares.length < 8 && !shares.some(isWithinATenth))
    shares.push(await shareOfQuota(hog.cgroup, 30_000));
  assert.ok(shares.some(isWithinATenth), `it got ${shares.map((share) => share.toFixed(3))} of its quota`);
  await stop(hog);
});

function isWithinATenth(share: number): boolean {
  return share > 0.9 && share < 1.1;
}

/** Counted from a moment at which it runs, over whole periods of the kernel's own count. */
async function shareOfQuota(cgroup: string, quotaUs: number): Promise<number> {
  const usedBefore = count(cgroup, "cpu.stat", "usage_usec");
  const periodsBefore = count(cgroup, "cpu.stat", "nr_periods");
  const periods = await eventually("forty periods are over", () => {
    const passed = count(cgroup, "cpu.stat", "nr_periods") - periodsBefore;
    return passed >= 40 ? passed : null;
  });
  return (count(cgroup, "cpu.stat", "usage_usec") - usedBefore) / (periods * quotaUs);
}

/** Milliseconds that 6 MiB of direct writes take. */
async function directWriteMs(io: "low" | "high"): Promise<number> {
  const job = await start("dd if=/dev/zero of=/work/file bs=256k count=24 oflag=direct 2>/dev/null", { io });
  const startedMs = performance.now();
  const { exitCode } = await job.running.exited;
  assert.equal(exitCode, 0);
  return performance.now() - startedMs;
}

test(
  "io low holds direct writes to about 1 MiB/s, and high does not",
  needs("io.max", "whole disk for io.max"),
  async () => {
    const lowMs = await directWriteMs("low");
    // The best of three: a busy host can make anything slow, but nothing fast.
    const highMs = Math.min(
      await directWriteMs("high"),
      await directWriteMs("high"),
      await directWriteMs("high"),
    );
    // 6 MiB at 1 MiB/s; the first slice of the kernel's throttle is free.
    assert.ok(lowMs > 4_500, `6 MiB took ${lowMs} ms`);
    assert.ok(highMs < lowMs / 2, `low took ${lowMs} ms, high ${highMs} ms`);
  },
);

test(
  "a writer that waits in throttled i/o is stopped at once, not when its writes are through",
  needs("io.max", "whole disk for io.max"),
  async () => {
    const job = await start("dd if=/dev/zero of=/work/file bs=64M count=4 oflag=direct", { io: "low" });
    await eventually("it writes", () => / wbytes=[1-9]/.test(read(job.cgroup, "io.stat")));
    const startedMs = performance.now();
    await stop(job);
    // 256 MiB would take four minutes.
    assert.ok(performance.now() - startedMs < 30_000);
    assert.ok(!existsSync(job.cgroup));
  },
);

test(
  "a stop kills children that have left session and parent, and the cgroup is gone",
  needs("cgroup.kill"),
  async () => {
    const seconds = `${90_000 + (process.pid % 1000)}`;
    const script = `for i in 1 2 3; do (setsid sh -c "trap '' TERM; (exec sleep ${seconds}) & exit" &); done; echo ready; exec sleep ${seconds}`;
    const job = await startUntilReady(script);
    await eventually("all run", () => processesWith(seconds).length >= 4);
    await stop(job, 100);
    assert.deepEqual(processesWith(seconds), []);
    assert.ok(!existsSync(job.cgroup));
  },
);

test(
  "kill -9 of a worker leaves no process, and its next start removes the cgroup",
  needs("cgroup.kill"),
  async () => {
    const seconds = `${80_000 + (process.pid % 1000)}`;
    const jobId = `killed-${process.pid}`;
    const script = `(setsid sh -c "(exec sleep ${seconds}) & exit" &); echo ready; exec sleep ${seconds}`;
    const file = join(import.meta.dirname, "../../sandbox/run-one-job.ts");
    const worker = spawn(process.execPath, [file, scratch.path, jobId, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise<void>((resolve, reject) => {
      worker.stdout.once("data", () => resolve());
      worker.once("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
    });
    await eventually("all run", () => processesWith(seconds).length >= 3);
    worker.kill("SIGKILL");
    await eventually("nothing is left", () => processesWith(seconds).length === 0);

    const next = await openSandbox();
    await next.sweep([jobId]);
    assert.ok(!existsSync(join(next.facts.jobsDir!, jobId)));
    await next.close();
  },
);

test("strict gives back a job whose limit the host cannot give", needs("io.max"), async () => {
  const onMemory = await CagedSandbox.open({
    workDir: "/dev/shm",
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: process.getuid!(),
    mayMove: false,
  });
  try {
    assert.equal(onMemory.level, "strict");
    const asked = { limits: resolveLimits({ io: "low" }), asked: ["ioBytesPerSec" as const] };
    await assert.rejects(onMemory.probe(asked), /SANDBOX_UNAVAILABLE: io: .*not on a disk of its own/);
    const byDefault = await onMemory.probe({ ...asked, asked: [] });
    assert.deepEqual(
      byDefault.missing.map(({ part }) => part),
      ["io"],
    );
  } finally {
    await onMemory.close();
  }
});
