import { readFileSync } from "node:fs";
import type { BenchHub } from "./_hub.ts";

/** The kernel counts in hundredths of a second on every Linux that Node runs on. */
const tickUs = 10_000;

/**
 * Runs `work` and answers how much CPU time each of its jobs took, in the hub and in this process. On a machine that
 * others use too, this says more about a change than the time that passed.
 */
export async function withCpu<T>(
  hub: Pick<BenchHub, "pid">,
  jobs: number,
  work: () => Promise<T>,
): Promise<{ value: T; cpu: { hub_cpu_us: number; own_cpu_us: number } }> {
  const before = [cpuUs(hub.pid), cpuUs(process.pid)] as const;
  const value = await work();
  const used = (pid: number, beforeUs: number) => Math.round((cpuUs(pid) - beforeUs) / jobs);
  return { value, cpu: { hub_cpu_us: used(hub.pid, before[0]), own_cpu_us: used(process.pid, before[1]) } };
}

/** Of all threads, also of those that have ended. */
function cpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program comes second, in brackets, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}
