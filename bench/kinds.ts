import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writ } from "../src/client/index.ts";
import { freePort } from "../test/support/free-port.ts";
import { treeCpuUs } from "./_cpu.ts";
import { figure } from "./_figures.ts";
import { startBenchHub } from "./_hub.ts";

/**
 * The same Node program and the same jobs, which do next to nothing, in both kinds: started for each job
 * (`exec_per_job`), and started once (`persistent_http`). Hub and worker are processes as users run them, each job is
 * caged where the machine can do that, and both kinds have the same slots. Beside jobs per second stands the CPU time
 * of a job, in hub, worker and program together: on a busy machine, only that figure is meaningful. Why: ADR 0044.
 * Usage: npm run bench -- kinds [jobs] [slots]
 */
const jobs = Number(process.argv[2] ?? 400);
const slots = Number(process.argv[3] ?? 16);
const rounds = 3;
const warmUpJobs = 100;
const lookMs = 200;

// Not in /tmp: a cage has one of its own.
const dir = mkdtempSync("/var/tmp/writ-bench-kinds-");
const home = prepareHome();
const port = await freePort();
const hub = await startBenchHub({}, home, "up");
const writ = new Writ({ url: hub.url, token: hub.token });
try {
  const kinds = {
    exec_per_job: { kind: "exec_per_job", worker_command: [`${dir}/node`, `${dir}/worker.mjs`] },
    persistent_http: {
      kind: "persistent_http",
      worker_command: [`${dir}/node`, `${dir}/worker.mjs`, "--port", String(port)],
      port,
    },
  } as const;
  const names = ["exec_per_job", "persistent_http"] as const;
  const sums = {
    exec_per_job: { jobsPerSecond: 0, cpuMs: 0 },
    persistent_http: { jobsPerSecond: 0, cpuMs: 0 },
  };
  for (const name of names) await drained(kinds[name], warmUpJobs);
  // In turns, so that whatever else the machine does falls on both alike.
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const beforeUs = treeCpuUs(hub.pid);
      const jobsPerSecond = await drained(kinds[name], jobs);
      const best = Math.max(sums[name].jobsPerSecond, jobsPerSecond);
      const cpuMs = sums[name].cpuMs + (treeCpuUs(hub.pid) - beforeUs) / 1000 / jobs / rounds;
      sums[name] = { jobsPerSecond: best, cpuMs };
    }
  }
  const [exec, http] = names.map((name) => sums[name]) as [Sum, Sum];
  for (const name of names) {
    figure(name, sums[name].jobsPerSecond, "jobs/s", {
      jobs,
      slots,
      rounds,
      cpu_ms: round(sums[name].cpuMs),
    });
  }
  const more = { less_cpu: round(exec.cpuMs / http.cpuMs) };
  figure("persistent_http against exec_per_job", http.jobsPerSecond / exec.jobsPerSecond, "times", more);
} finally {
  writ.close();
  await hub.stop();
  rmSync(dir, { recursive: true, force: true });
}

type Sum = { jobsPerSecond: number; cpuMs: number };

function round(value: number): number {
  return Number(value.toPrecision(3));
}

function prepareHome(): string {
  chmodSync(dir, 0o755);
  copyFileSync(process.execPath, join(dir, "node"));
  copyFileSync(join(import.meta.dirname, "../test/kinds/workers/shout.mjs"), join(dir, "worker.mjs"));
  const path = join(dir, "home");
  mkdirSync(join(path, "worker"), { recursive: true, mode: 0o700 });
  const settings = `execution:\n  slots: ${slots}\n  visible_paths: [${dir}/node, ${dir}/worker.mjs]\n`;
  writeFileSync(join(path, "worker/agents.yaml"), settings, { mode: 0o600 });
  return path;
}

/** How many jobs each second have ended, from the submission of the first to the end of the last. */
async function drained(run: object, count: number): Promise<number> {
  const job = { type: "shout.v1", run: { ...run, job_input: { text: "x" } }, max_attempts: 1 };
  const startedAt = performance.now();
  const accepted: { id: string }[] = [];
  while (accepted.length < count) {
    const batch = Array(Math.min(100, count - accepted.length)).fill(job);
    accepted.push(...(await writ.submitBatch(batch)));
  }
  while (await isUnderWay()) await new Promise((resolve) => setTimeout(resolve, lookMs));
  const seconds = (performance.now() - startedAt) / 1000;
  for (const { id } of [accepted[0]!, accepted.at(-1)!]) {
    const { status, fail_reason: reason } = await writ.get(id);
    if (status !== "completed") throw new Error(`job ${id} is ${status}: ${reason}`);
  }
  return count / seconds;
}

async function isUnderWay(): Promise<boolean> {
  const { jobs } = await writ.listPage({ status: ["pending", "assigned", "running"] }, { limit: 1 });
  return jobs.length > 0;
}
