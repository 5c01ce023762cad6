import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "../src/client/index.ts";
import { cpuOfProcessJobs, type JobCpuUs } from "./_cpu.ts";
import { figure, median } from "./_figures.ts";
import { startBenchHub } from "./_hub.ts";
import { readOptions } from "./_options.ts";
import { compareProcesses } from "./peers/exec.ts";

/**
 * Caged process jobs end to end: submitted, signed, claimed, verified, run in a cage where the machine can do that, their
 * output kept, their end receipted. Hub and worker are a process as users run them. Beside jobs per second stands the
 * CPU time of a job in hub and worker, in the launcher, and in cage and process, which other work on the machine changes
 * least.
 * Usage: npm run bench -- exec [jobs] [slots]. Why: ADR 0148.
 *
 * With --peers it is measured beside BullMQ with child_process.spawn and with bubblewrap instead, in turns:
 * Why: ADR 0057, ADR 0058.
 * npm run bench -- exec --peers [--rounds N] [--jobs N] [--json] [--save]
 */
const options = readOptions();
const jobs = Number(options.positionals[0] ?? 1_000);
const slots = Number(options.positionals[1] ?? 32);
const rounds = 3;
const warmUpJobs = 200;
const lookMs = 5;

const text = "x".repeat(200);
const commands = {
  "caged exec, with output": ["/bin/echo", text],
  "caged exec, silent": ["/bin/true"],
} as const;

if (options.peers) await compareProcesses(options);
else await measureAlone();

async function measureAlone(): Promise<void> {
  const home = prepareHome();
  const hub = await startBenchHub({}, home, "up");
  const writ = new Writ({ url: hub.url, token: hub.token });
  try {
    for (const argv of Object.values(commands)) await drained(writ, argv, warmUpJobs);
    const found = new Map<string, Turn[]>();
    // In turns, so that whatever else the machine does falls on both alike.
    for (let round = 0; round < rounds; round++) {
      for (const [name, argv] of Object.entries(commands)) {
        const before = cpuOfProcessJobs(hub.pid);
        const jobsPerSecond = await drained(writ, argv, jobs);
        const turn = { jobsPerSecond, cpuUs: perJob(before, cpuOfProcessJobs(hub.pid)) };
        found.set(name, [...(found.get(name) ?? []), turn]);
      }
    }
    for (const [name, turns] of found) tell(name, turns);
  } finally {
    writ.close();
    await hub.stop();
  }
}

type Turn = { jobsPerSecond: number; cpuUs: JobCpuUs };

function perJob(before: JobCpuUs, after: JobCpuUs): JobCpuUs {
  const of = (part: keyof JobCpuUs) => Math.round((after[part] - before[part]) / jobs);
  return { node: of("node"), launcher: of("launcher"), cages: of("cages") };
}

function tell(name: string, turns: readonly Turn[]): void {
  const rates = turns.map(({ jobsPerSecond }) => jobsPerSecond);
  const spread = [Math.min(...rates), Math.max(...rates)].map(Math.round);
  const cpu = (part: keyof JobCpuUs) => median(turns.map(({ cpuUs }) => cpuUs[part]));
  const cpuUs = { node: cpu("node"), launcher: cpu("launcher"), cages: cpu("cages") };
  figure(name, median(rates), "jobs/s", { jobs, slots, rounds, spread, cpu_us: cpuUs });
}

function prepareHome(): string {
  const path = mkdtempSync(join(tmpdir(), "writ-bench-exec-"));
  mkdirSync(join(path, "worker"), { mode: 0o700 });
  writeFileSync(join(path, "worker/agents.yaml"), `execution:\n  slots: ${slots}\n`, { mode: 0o600 });
  process.once("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** How many jobs each second have ended, from the submission of the first to the end of the last. */
async function drained(writ: Writ, argv: readonly string[], count: number): Promise<number> {
  const job = { type: "exec", run: { kind: "exec" as const, argv: [...argv] } };
  const startedAt = performance.now();
  const accepted: { id: string }[] = [];
  while (accepted.length < count) {
    accepted.push(...(await writ.submitBatch(Array(Math.min(500, count - accepted.length)).fill(job))));
  }
  // One call that waits, because each look at the lists would be charged to the hub. The last one ends among the last.
  await writ.wait(accepted.at(-1)!.id);
  while (await isUnderWay(writ)) await new Promise((resolve) => setTimeout(resolve, lookMs));
  const seconds = (performance.now() - startedAt) / 1000;
  for (const { id } of [accepted[0]!, accepted.at(-1)!]) {
    const { status, fail_reason: reason, output } = await writ.get(id);
    const isWritten = argv.length === 1 || output.stdout === text.length + 1;
    if (status !== "completed" || !isWritten) throw new Error(`job ${id} is ${status}: ${reason}`);
  }
  return count / seconds;
}

async function isUnderWay(writ: Writ): Promise<boolean> {
  const { jobs } = await writ.listPage({ status: ["pending", "assigned", "running"] }, { limit: 1 });
  return jobs.length > 0;
}
