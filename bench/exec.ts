import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "../src/client/index.ts";
import { treeCpuUs } from "./_cpu.ts";
import { figure, median } from "./_figures.ts";
import { startBenchHub } from "./_hub.ts";
import { readOptions } from "./_options.ts";
import { compareProcesses } from "./peers/exec.ts";

/**
 * Caged process jobs end to end: submitted, signed, claimed, verified, run in a cage where the machine can do that, their
 * output kept, their end receipted. Hub and worker are processes as users run them. Beside jobs per second stands the
 * CPU time of a job in hub, worker, launcher and process together, which other work on the machine changes least.
 * Usage: npm run bench -- exec [jobs] [slots]
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
const lookMs = 50;

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
    const found = new Map<string, { jobsPerSecond: number[]; cpuUs: number[] }>();
    // In turns, so that whatever else the machine does falls on both alike.
    for (let round = 0; round < rounds; round++) {
      for (const [name, argv] of Object.entries(commands)) {
        const beforeUs = treeCpuUs(hub.pid);
        const jobsPerSecond = await drained(writ, argv, jobs);
        const all = found.get(name) ?? { jobsPerSecond: [], cpuUs: [] };
        all.jobsPerSecond.push(jobsPerSecond);
        all.cpuUs.push((treeCpuUs(hub.pid) - beforeUs) / jobs);
        found.set(name, all);
      }
    }
    for (const [name, { jobsPerSecond, cpuUs }] of found) {
      const spread = [Math.min(...jobsPerSecond), Math.max(...jobsPerSecond)].map(Math.round);
      figure(name, median(jobsPerSecond), "jobs/s", {
        jobs,
        slots,
        rounds,
        spread,
        cpu_us: Math.round(median(cpuUs)),
      });
    }
  } finally {
    writ.close();
    await hub.stop();
  }
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
