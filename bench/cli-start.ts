import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { figure, quantile } from "./_figures.ts";

// npm run bench -- cli-start [runs]
// How long `jobctl status` takes from its start to its end, next to a Node that does nothing. The runs take turns, so
// that whatever else the machine does meets all of them alike; on a machine with much else to do, only the time on the
// processor says something. Why: ADR 0017.
const runs = Number(process.argv[2] ?? 31);
const root = fileURLToPath(new URL("..", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "writ-bench-"));
const env = { PATH: process.env["PATH"], WRIT_HOME: home };

const up = spawn(join(root, "bin/writ"), ["up", "--home", home, "--port", "0", "--grpc-port", "0"], {
  env: { PATH: process.env["PATH"], WRIT_LOG_LEVEL: "warn" },
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  await Promise.race([once(up.stdout, "data"), once(up, "exit").then(() => refuse("writ up has ended"))]);
  const jobctl = join(root, "bin/jobctl");
  const id = spawnSync(jobctl, ["start", "true"], { env, encoding: "utf8" }).stdout.trim();
  const cases = {
    "node -e 0": [process.execPath, "-e", "0"],
    "jobctl status": [jobctl, "status", id],
    "jobctl status from source": [process.execPath, join(root, "src/cli/jobctl.ts"), "status", id],
    "jobctl --help": [jobctl, "--help"],
  } as const;
  const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
  const cpuMs = new Map(Object.keys(cases).map((name) => [name, 0]));
  for (let run = 0; run < runs; run++) {
    for (const [name, [program, ...args]] of Object.entries(cases)) {
      const before = childrenCpuMs();
      times.get(name)!.push(timed(program, args));
      cpuMs.set(name, cpuMs.get(name)! + childrenCpuMs() - before);
    }
  }
  const median = (name: keyof typeof cases): number => quantile(times.get(name)!, 0.5);
  for (const name of Object.keys(cases) as (keyof typeof cases)[]) {
    figure(name, median(name), "ms", {
      min: quantile(times.get(name)!, 0),
      p90: quantile(times.get(name)!, 0.9),
      cpu: cpuMs.get(name)! / runs,
      runs,
    });
  }
  figure("jobctl status ÷ node -e 0", median("jobctl status") / median("node -e 0"), "times", {
    goal: 3,
    cpu: cpuMs.get("jobctl status")! / cpuMs.get("node -e 0")!,
  });
} finally {
  const exited = up.exitCode === null ? once(up, "exit") : undefined;
  up.kill("SIGTERM");
  await exited;
  rmSync(home, { recursive: true, force: true });
}

function refuse(why: string): never {
  throw new Error(why);
}

function timed(program: string, args: readonly string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
  return performance.now() - startedAt;
}

/** The time on the processor of all children that have ended. The kernel gives it in hundredths of a second. */
function childrenCpuMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
