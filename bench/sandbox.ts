import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveLimits } from "../src/core/limits.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { silentLogger } from "../src/runtime/logger.ts";
import { CagedSandbox } from "../src/sandbox/caged-sandbox.ts";
import type { RootEntry } from "../src/sandbox/host-facts.ts";
import { readRootEntries } from "../src/sandbox/probe-host.ts";
import type { LaunchPlan } from "../src/sandbox/sandbox.ts";
import { type BundleKind, makeBundle } from "./_container-bundle.ts";
import { figure, perSecond } from "./_figures.ts";

/**
 * What a cage costs: starts of /bin/true per second, side by side in one run. Writ's are full starts from the worker,
 * with output files and clean-up of the cage. The container runtimes are given the same cage (mounts, namespaces, user,
 * no capabilities, the calls that the filter refuses), and for comparison the bare minimum of a container. Those that
 * are not installed are named and left out: apt-get install bubblewrap crun runc. Everybody's files lie in memory,
 * where there is a place for that, so that nobody waits for the disk.
 * Usage: npm run bench -- sandbox [starts]
 */
const starts = Number(process.argv[2] ?? 300);
const lanes = [1, 16];
const memoryDir = "/dev/shm";
const dir = mkdtempSync(join(existsSync(memoryDir) ? memoryDir : tmpdir(), "writ-bench-cage-"));

const bundleKinds: BundleKind[] = ["same cage", "bare"];

type Start = (index: number) => Promise<void>;
let made = 0;
const bubblewrap =
  "bwrap --unshare-pid --unshare-ipc --unshare-uts --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --die-with-parent --new-session --cap-drop ALL /bin/true".split(
    " ",
  );

const [only, lane, kind] = process.argv.slice(3);

try {
  if (only !== undefined) await measureContainers(only, Number(lane), kind as BundleKind);
  else await compareAll();
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function compareAll(): Promise<void> {
  const caged = await cagedStarts();
  await compare([
    { name: "writ, caged", start: caged.start },
    { name: "child_process.spawn, uncaged", start: (n) => runProgram(["/bin/true"], n) },
    { name: "bubblewrap", start: (n) => runProgram(bubblewrap, n), program: "bwrap" },
  ]);
  await caged.close();
}

async function compare(rivals: { name: string; start: Start; program?: string }[]): Promise<void> {
  for (const inFlight of lanes) {
    const found = new Map([["posix_spawn in C, uncaged", bareStarts(inFlight)]]);
    for (const { name, start, program } of rivals) {
      if (program !== undefined && !isInstalled(program)) continue;
      await perSecond(Math.ceil(starts / 10), inFlight, once(start));
      found.set(name, await perSecond(starts, inFlight, once(start)));
    }
    for (const runtime of ["crun", "runc"].filter(isInstalled)) {
      for (const kind of bundleKinds) {
        const value = containersPerSecond(runtime, inFlight, kind);
        if (value !== null) found.set(`${runtime}, ${kind}`, value);
      }
    }
    show(found, inFlight);
  }
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
  const words = [import.meta.filename, Math.ceil(starts / 5), runtime, inFlight, `"${kind}"`];
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
  console.log(await perSecond(starts, inFlight, once(start)));
}

function once(start: Start): () => Promise<number> {
  return async () => {
    await start(made++);
    return 1;
  };
}

async function cagedStarts(): Promise<{ start: Start; close(): Promise<void> }> {
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
      mkdirSync(workDir, { recursive: true });
      const running = await sandbox.start(plan(index, place, workDir));
      const { exitCode } = await running.exited;
      if (exitCode !== 0) throw new Error(`/bin/true ended with ${exitCode}`);
    },
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

function runProgram(command: string[], _index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0]!, command.slice(1), { stdio: "ignore" });
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
  return (index) => runProgram([...command, `c${process.pid}-${index}`], index);
}

function bareStarts(lane: number): number {
  const program = join(dir, "posix-spawn");
  execFileSync("cc", ["-O2", "-o", program, join(import.meta.dirname, "_posix-spawn.c")]);
  return Number(execFileSync(program, [String(starts * 3), String(lane)], { encoding: "utf8" }));
}
