import { readdirSync, readFileSync } from "node:fs";
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

/** The CPU time of a process, of everything that it started and of everything below, also of what has ended. */
export function treeCpuUs(root: number): number {
  return treeOf(root).reduce((sumUs, { ownUs, childrenUs }) => sumUs + ownUs + childrenUs, 0);
}

export type JobCpuUs = { node: number; launcher: number; cages: number };

/**
 * The CPU time of a hub with its own worker by parts: Node in both, the launcher itself, and the cages with what runs in
 * them, as far as they have ended.
 */
export function cpuOfProcessJobs(hubPid: number): JobCpuUs {
  const sums: JobCpuUs = { node: 0, launcher: 0, cages: 0 };
  for (const { name, ownUs, childrenUs } of treeOf(hubPid)) {
    if (name === "writ-launcher") {
      sums.launcher += ownUs;
      sums.cages += childrenUs;
    } else sums.node += ownUs;
  }
  return sums;
}

/** A process and everything below it. */
function treeOf(root: number): Stat[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const stats = new Map(pids.map((pid) => [Number(pid), statOf(Number(pid))]));
  const isBelow = (pid: number): boolean => {
    const parent = stats.get(pid)?.parent ?? 0;
    return pid === root || (parent !== 0 && isBelow(parent));
  };
  return [...stats].filter(([pid]) => isBelow(pid)).map(([, stat]) => stat);
}

/** Of all threads, also of those that have ended. */
function cpuUs(pid: number): number {
  return statOf(pid).ownUs;
}

type Stat = { name: string; parent: number; ownUs: number; childrenUs: number };

function statOf(pid: number): Stat {
  return statAt(`/proc/${pid}/stat`);
}

/** Zeros if it has just ended: then its parent has its time. */
function statAt(path: string): Stat {
  let stat: string;
  try {
    stat = readFileSync(path, "utf8");
  } catch {
    // The process has ended since its folder was listed.
    return { name: "", parent: 0, ownUs: 0, childrenUs: 0 };
  }
  const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
  // The name of the program comes second, in brackets, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const sumUs = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) * tickUs;
  return { name, parent: Number(fields[1]), ownUs: sumUs(11), childrenUs: sumUs(13) };
}

/** The CPU time of each kind of thread in a process, by the names that Node gives them. */
export function cpuByThread(pid: number): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const task of threadsOf(pid)) {
    const { name, ownUs } = statAt(`/proc/${pid}/task/${task}/stat`);
    if (name !== "") sums[name] = (sums[name] ?? 0) + ownUs;
  }
  return sums;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has ended.
    return [];
  }
}
