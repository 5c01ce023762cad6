import { countIn } from "./cgroup-files.ts";

/** The kernel's counts for a cgroup; null where it has none. Why: ADR 0067. */
export type CgroupCounts = {
  cpuUs: number | null;
  memoryBytes: number | null;
  memoryPeakBytes: number | null;
  /** The kernel's count of out-of-memory kills, which an exit code does not prove. */
  oomKills: number;
  pids: number | null;
  pidsPeak: number | null;
  ioReadBytes: number | null;
  ioWriteBytes: number | null;
};

/** A file that the kernel does not have is null; one that matters only while the cgroup is in use can be left out. */
type CgroupTexts = {
  cpuStat: string | null;
  memoryCurrent?: string | null;
  memoryPeak: string | null;
  memoryEvents: string | null;
  pidsCurrent?: string | null;
  pidsPeak: string | null;
  ioStat: string | null;
};

/** From the files as they were read. */
export function cgroupCounts(texts: CgroupTexts): CgroupCounts {
  return {
    cpuUs: countIn(texts.cpuStat, "usage_usec"),
    memoryBytes: numberOrNull(texts.memoryCurrent),
    memoryPeakBytes: numberOrNull(texts.memoryPeak),
    oomKills: countIn(texts.memoryEvents, "oom_kill") ?? 0,
    pids: numberOrNull(texts.pidsCurrent),
    pidsPeak: numberOrNull(texts.pidsPeak),
    ioReadBytes: sumOfDisks(texts.ioStat, "rbytes"),
    ioWriteBytes: sumOfDisks(texts.ioStat, "wbytes"),
  };
}

function numberOrNull(text: string | null | undefined): number | null {
  return typeof text === "string" && /^\d+\n?$/.test(text) ? Number(text) : null;
}

/** io.stat has a line for each disk that was used, and is empty before the first. */
function sumOfDisks(text: string | null, name: string): number | null {
  if (text === null) return null;
  const counts = [...text.matchAll(new RegExp(`\\b${name}=(\\d+)`, "g"))].map(([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}
