import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveLimits } from "../src/core/limits.ts";
import { systemClock } from "../src/runtime/clock/clock.ts";
import { silentLogger } from "../src/runtime/log/logger.ts";
import type { CageRights } from "../src/sandbox/cage-rights.ts";
import { CagedSandbox } from "../src/sandbox/caged-sandbox.ts";
import type { RootEntry } from "../src/sandbox/host/host-facts.ts";
import { readRootEntries } from "../src/sandbox/host/probe-host.ts";
import type { LaunchPlan } from "../src/sandbox/sandbox.ts";
import { type BundleKind, makeBundle } from "./_container-bundle.ts";
import { figure, perSecondFor, quantile } from "./_figures.ts";

/**
 * What a cage costs: starts of /bin/true per second, side by side in one run. Writ's are full starts from the worker,
 * with output files and clean-up of the cage. What the kernel alone takes for that is shown by a loop in C that makes
 * the calls of a cage and nothing else. The container runtimes are given the same cage (mounts, namespaces, user, no
 * capabilities, the calls that the filter refuses), and for comparison the bare minimum of a container. Those that are
 * not installed are named and left out: apt-get install bubblewrap crun runc. Everybody's files lie in memory, where
 * there is a place for that, so that no process waits for the disk. Each is measured in turn, three times, and the
 * median counts; before the first time it is warmed up for as long, because a worker lives for weeks and what counts is
 * a start when its code is compiled. Why: ADR 0015, ADR 0039. Usage: npm run bench -- sandbox [seconds]
 */
const seconds = Number(process.argv[2] ?? 2);
const lanes = [1, 16];
const rounds = 3;
const warmUps = 2;
const memoryDir = "/dev/shm";
const dir = mkdtempSync(join(existsSync(memoryDir) ? memoryDir : tmpdir(), "writ-bench-cage-"));
const bundleKinds: BundleKind[] = ["same cage", "bare"];
const bubblewrap =
  "bwrap --unshare-pid --unshare-ipc --unshare-uts --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --die-with-parent --new-session --cap-drop ALL /bin/true".split(
    " ",
  );

/** An ordinary user, and the option that makes this program measure as one. */
const userId = 4711;
const withoutRoot = "without root";
const writWithoutRoot = `writ, caged ${withoutRoot}`;
const bubblewrapWithoutRoot = `bubblewrap ${withoutRoot}`;

type Start = (index: number) => Promise<void>;
/** Answers starts per second, or null where it cannot be had. */
type Measure = (inFlight: number) => Promise<number | null>;
let made = 0;

const [only, lane, kind] = process.argv.slice(3);
try {
  if (only === withoutRoot) await measureWithoutRoot(Number(lane));
  else if (only !== undefined) await measureContainers(only, Number(lane), kind as BundleKind);
  else await compareAll();
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function compareAll(): Promise<void> {
  const caged = await cagedStarts();
  const rivals = new Map<string, Measure>([
    ["writ, caged", measured(caged.start)],
    [writWithoutRoot, async (inFlight) => perSecondWithoutRoot(inFlight)],
    ["the calls of a cage in C", cageFloor(caged.jobsDir)],
    ["posix_spawn in C, uncaged", bareStarts()],
    ["child_process.spawn, uncaged", measured(() => runProgram(["/bin/true"]))],
  ]);
  if (isInstalled("bwrap")) {
    rivals.set(
      "bubblewrap",
      measured(() => runProgram(bubblewrap)),
    );
    rivals.set(
      bubblewrapWithoutRoot,
      measured(() => runProgram(bubblewrap, userIds())),
    );
  }
  for (const runtime of ["crun", "runc"].filter(isInstalled)) {
    for (const kind of bundleKinds)
      rivals.set(`${runtime}, ${kind}`, async (inFlight) => containersPerSecond(runtime, inFlight, kind));
  }
  for (const inFlight of lanes) show(await compare(rivals, inFlight), inFlight);
  await caged.close();
}

async function compare(rivals: Map<string, Measure>, inFlight: number): Promise<Map<string, number>> {
  const found = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of rivals) {
      const value = await measure(inFlight);
      if (value !== null) found.set(name, [...(found.get(name) ?? []), value]);
    }
  }
  return new Map([...found].map(([name, values]) => [name, quantile(values, 0.5)]));
}

function measured(start: Start): Measure {
  let isWarm = false;
  return async (inFlight) => {
    if (!isWarm) await perSecondFor(warmUps * seconds, inFlight, () => start(made++));
    isWarm = true;
    return perSecondFor(seconds, inFlight, () => start(made++));
  };
}

function show(found: Map<string, number>, inFlight: number): void {
  for (const [name, value] of found) {
    const msPerStart = Number(((1000 * inFlight) / value).toFixed(2));
    figure(`${name}, ${inFlight} in flight`, value, "starts/s", { ms_per_start: msPerStart });
  }
  const writ = found.get("writ, caged")!;
  for (const [name, value] of found) {
    if (name !== "writ, caged") figure(`writ ÷ ${name}, ${inFlight} in flight`, writ / value, "ratio");
  }
  const ordinary = found.get(writWithoutRoot);
  for (const name of ["writ, caged", bubblewrapWithoutRoot]) {
    const value = found.get(name);
    if (ordinary !== undefined && value !== undefined)
      figure(`${writWithoutRoot} ÷ ${name}, ${inFlight} in flight`, ordinary / value, "ratio");
  }
}

function isInstalled(program: string): boolean {
  const isThere = spawnSync(program, ["--version"]).error === undefined;
  if (!isThere) console.error(`${program} is not installed`);
  return isThere;
}

/**
 * crun refuses hosts that mount both versions of cgroups, so the runtimes are measured where only one is seen: in a
 * mount namespace of this benchmark's own, which changes nothing for anybody else.
 */
function containersPerSecond(runtime: string, inFlight: number, kind: BundleKind): number | null {
  const words = [import.meta.filename, seconds, runtime, inFlight, `"${kind}"`];
  const self = `exec ${process.execPath} ${words.join(" ")}`;
  const script = `umount /sys/fs/cgroup/unified 2>/dev/null; ${self}`;
  const { stdout, stderr, status } = spawnSync("unshare", ["--mount", "sh", "-c", script], {
    encoding: "utf8",
  });
  if (status === 0) return Number(stdout);
  console.error(`${runtime} does not run here: ${stderr.trim().split("\n").at(-1)}`);
  return null;
}

async function measureContainers(runtime: string, inFlight: number, kind: BundleKind): Promise<void> {
  const start = containerStart(runtime, kind, readRootEntries());
  await start(made++);
  console.log(await perSecondFor(seconds, inFlight, () => start(made++)));
}

/** By a process of an ordinary user, who builds cages in a user namespace. It warms up each time, as it is new. */
function perSecondWithoutRoot(inFlight: number): number | null {
  const words = [import.meta.filename, String(seconds), withoutRoot, String(inFlight)];
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: "utf8", ...userIds() });
  if (status === 0) return Number(stdout);
  console.error(`no cage can be built ${withoutRoot}: ${stderr.trim().split("\n").at(-1)}`);
  return null;
}

/** Those of an ordinary user, unless we are one. */
function userIds(): { uid?: number; gid?: number } {
  return process.getuid!() === 0 ? { uid: userId, gid: userId } : {};
}

async function measureWithoutRoot(inFlight: number): Promise<void> {
  const caged = await cagedStarts();
  if (caged.rights !== "user-namespace") throw new Error("this host forbids user namespaces");
  console.log(await measured(caged.start)(inFlight));
  await caged.close();
}

async function cagedStarts(): Promise<{
  start: Start;
  rights: CageRights["kind"];
  jobsDir: string | null;
  close(): Promise<void>;
}> {
  const sandbox = await CagedSandbox.open({
    workDir: dir,
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: process.getuid!(),
    mayMove: false,
  });
  console.error(
    `isolation here: ${JSON.stringify(await sandbox.probe({ limits: resolveLimits({}), asked: [] }))}`,
  );
  return {
    async start(index) {
      const place = join(dir, `job-${index}`);
      const workDir = join(place, "work");
      mkdirSync(place);
      mkdirSync(workDir);
      const running = await sandbox.start(plan(index, place, workDir));
      const { exitCode } = await running.exited;
      if (exitCode !== 0) throw new Error(`/bin/true ended with ${exitCode}`);
    },
    rights: sandbox.facts.rights.kind,
    jobsDir: sandbox.facts.jobsDir,
    close: () => sandbox.close(),
  };
}

function plan(index: number, place: string, workDir: string): LaunchPlan {
  return {
    jobId: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    attempt: 1,
    argv: ["/bin/true"],
    env: { PATH: "/usr/bin:/bin", HOME: "/tmp" },
    cwd: "/work",
    stdoutFile: join(place, "stdout.log"),
    stderrFile: join(place, "stderr.log"),
    outputBytesMax: 1024 ** 2,
    limits: resolveLimits({}),
    asked: [],
    workDir,
  };
}

function runProgram(command: string[], ids: { uid?: number; gid?: number } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0]!, command.slice(1), { stdio: "ignore", ...ids });
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`${command[0]} ended with ${code}`)),
    );
  });
}

function containerStart(runtime: string, kind: BundleKind, rootEntries: readonly RootEntry[]): Start {
  const bundle = join(dir, "bundle");
  makeBundle(bundle, kind, rootEntries);
  const command = [runtime, "--root", join(dir, "state"), "run", "--bundle", bundle];
  return (index) => runProgram([...command, `c${process.pid}-${index}`]);
}

function bareStarts(): Measure {
  const program = compile("posix-spawn", [], ["_posix-spawn.c"]);
  return async (inFlight) => runMeasure(program, [seconds, inFlight]);
}

/** In the same directory and the same place among the cgroups as Writ's own. */
function cageFloor(jobsDir: string | null): Measure {
  const parts = [
    "kernel",
    "rights/privileges",
    "rights/seccomp-filter",
    "cage/user-namespace",
    "failure",
    "fatal",
  ];
  const sources = ["_cage-floor.c", ...parts.map((name) => `../launcher/${name}.c`)];
  // Static as the launcher is: it forks its own memory for each cage.
  const program = compile("cage-floor", ["-static"], sources);
  return async (inFlight) => {
    const place = mkdtempSync(join(dir, "floor-"));
    const cgroup = jobsDir === null ? "" : mkdtempSync(join(jobsDir, "floor-"));
    try {
      return runMeasure(program, [seconds, inFlight, place, cgroup]);
    } finally {
      if (cgroup !== "") rmdirSync(cgroup);
      rmSync(place, { recursive: true });
    }
  };
}

function compile(name: string, flags: string[], sources: string[]): string {
  const program = join(dir, name);
  const paths = sources.map((source) => join(import.meta.dirname, source));
  const launcher = join(import.meta.dirname, "../launcher");
  execFileSync("cc", ["-O2", ...flags, "-I", launcher, "-o", program, ...paths]);
  return program;
}

function runMeasure(program: string, words: (string | number)[]): number {
  return Number(execFileSync(program, words.map(String), { encoding: "utf8" }));
}
