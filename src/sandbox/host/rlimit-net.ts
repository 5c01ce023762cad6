import { formatBytes } from "../../core/text/format-bytes.ts";
import { type LimitPart, limitKeys, limitParts } from "../cgroup/cgroup-limits.ts";
import type { Asked } from "../sandbox.ts";
import type { HostFacts, PartName } from "./host-facts.ts";

/** As in <sys/resource.h>. */
export const rlimit = { CPU: 0, FSIZE: 1, DATA: 2, CORE: 4, NPROC: 6, NOFILE: 7 } as const;

export type Rlimit = { resource: number; soft: number; hard: number };

/** An rlimit in place of a limit, and its record. */
type Net = {
  name: string;
  rlimit: Rlimit;
  /** The limit that it replaces; undefined if it replaces none. */
  part?: LimitPart;
  /** The rlimit's effect, with its number, for people. */
  holds?: string;
};

/**
 * Memory that a process reserves and may never use: Node alone maps 0.6 GiB, and another 0.5 GiB for each worker
 * thread.
 */
const reservedBytes = 1024 ** 3;
/** Between SIGXCPU and SIGKILL. */
const cpuGraceSec = 5;
/** A single file leaves this much of the disk, or half of what is free if that is less. */
const diskLeftBytes = 1024 ** 3;

/**
 * The rlimits that stop a runaway job where no cgroup limits it. The kernel applies these to each process by itself,
 * except for the number of processes. They are wide enough for every job that would run to its end in a cgroup with the
 * same limits, as far as that can be known; memory is therefore limited only if the limit is required. Why: ADR 0040.
 */
export function rlimitNet(facts: HostFacts, asked: Asked, lacking: readonly PartName[]): Net[] {
  if (facts.launcherObstacle !== null) return [];
  const nets = limitParts
    .filter((part) => lacking.includes(part))
    .flatMap((part): Net[] => {
      const found = limitRlimit(facts, asked, part);
      return found === null
        ? []
        : [{ name: `${part}: rlimit`, rlimit: found, part, holds: holds[part](found.soft) }];
    });
  if (lacking.includes("cgroup")) nets.push({ name: "file_size: rlimit", rlimit: fileSizeRlimit(facts) });
  return nets;
}

const holds: Record<LimitPart, (limit: number) => string> = {
  cpu: (seconds) => `each process may use ${seconds} s of CPU time, at any speed`,
  memory: (bytes) =>
    `each process may use ${formatBytes(bytes)} (the limit + ${formatBytes(reservedBytes)}), and the job as a whole has no limit`,
  pids: (count) => `the kernel allows ${count} processes and threads`,
  io: () => "",
};

function limitRlimit(facts: HostFacts, asked: Asked, part: LimitPart): Rlimit | null {
  const limit = asked.limits[limitKeys[part]];
  if (limit === null) return null;
  switch (part) {
    case "cpu":
      return cpuRlimit(limit, asked.timeoutSec ?? 0);
    case "memory":
      return asked.asked.includes("memoryBytes") ? exactly(rlimit.DATA, limit + reservedBytes) : null;
    case "pids":
      return facts.countsProcesses ? exactly(rlimit.NPROC, limit) : null;
    case "io":
      return null;
  }
}

/** The CPU time that it could get until its timeout: a job that needs more could not finish anyway. */
function cpuRlimit(cpuMillis: number, timeoutSec: number): Rlimit | null {
  if (timeoutSec === 0) return null;
  const soft = Math.ceil((cpuMillis * timeoutSec) / 1000);
  return { resource: rlimit.CPU, soft, hard: soft + cpuGraceSec };
}

/** Set without a request: it keeps one file from filling the disk. */
function fileSizeRlimit({ diskFreeBytes }: HostFacts): Rlimit {
  const freeBytes = diskFreeBytes();
  return exactly(rlimit.FSIZE, Math.floor(Math.max(freeBytes - diskLeftBytes, freeBytes / 2)));
}

function exactly(resource: number, limit: number): Rlimit {
  return { resource, soft: limit, hard: limit };
}
