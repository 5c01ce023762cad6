import { countIn } from "./cgroup-files.ts";

/** What the kernel counts for a cgroup. "Out of memory" is what it counted, not what an exit code suggests. */
export type CgroupCounts = { cpuUs: number | null; memoryPeakBytes: number | null; oomKills: number };

/** From the files as they were read; null for those that the kernel does not have. */
export function cgroupCounts(texts: {
  cpuStat: string | null;
  memoryPeak: string | null;
  memoryEvents: string | null;
}): CgroupCounts {
  return {
    cpuUs: countIn(texts.cpuStat, "usage_usec"),
    memoryPeakBytes: numberOrNull(texts.memoryPeak),
    oomKills: countIn(texts.memoryEvents, "oom_kill") ?? 0,
  };
}

function numberOrNull(text: string | null): number | null {
  return text !== null && /^\d+\n?$/.test(text) ? Number(text) : null;
}
