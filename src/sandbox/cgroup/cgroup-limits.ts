import type { Limits } from "../../core/limits.ts";

/** One write to the kernel, and how it must look when it is read back. */
export type LimitWrite = { part: LimitPart; file: string; value: string; isTaken(readBack: string): boolean };

export const limitParts = ["cpu", "memory", "io", "pids"] as const;
export type LimitPart = (typeof limitParts)[number];
export const limitKeys = {
  cpu: "cpuMillis",
  memory: "memoryBytes",
  io: "ioBytesPerSec",
  pids: "pidsMax",
} as const satisfies Record<LimitPart, keyof Limits>;

const periodUs = 100_000;
/** The largest page of any supported kernel: memory.max is rounded down to whole pages. */
const pageBytesMax = 65_536;

/**
 * The files of a job's cgroup for its limits. `disk` is the "major:minor" of the whole disk that contains its files.
 * The kernel accepts some wrong values and keeps an old one beside them, so each is read back.
 */
export function limitWrites(limits: Limits, disk: string | null): LimitWrite[] {
  const writes: LimitWrite[] = [];
  const { cpuMillis, memoryBytes, ioBytesPerSec, pidsMax } = limits;
  if (cpuMillis !== null)
    writes.push(exactly("cpu", "cpu.max", `${(cpuMillis * periodUs) / 1000} ${periodUs}`));
  if (memoryBytes !== null) {
    writes.push({
      part: "memory",
      file: "memory.max",
      value: String(memoryBytes),
      isTaken: (text) => Number(text) <= memoryBytes && Number(text) > memoryBytes - pageBytesMax,
    });
    writes.push(exactly("memory", "memory.swap.max", "0"));
    writes.push(exactly("memory", "memory.oom.group", "1"));
  }
  if (pidsMax !== null) writes.push(exactly("pids", "pids.max", String(Math.max(pidsMax, pidsMin))));
  if (ioBytesPerSec !== null && disk !== null) {
    const value = `${disk} rbps=${ioBytesPerSec} wbps=${ioBytesPerSec}`;
    writes.push({
      part: "io",
      file: "io.max",
      value,
      isTaken: (text) => text.split("\n").some((line) => line.startsWith(`${value} `)),
    });
  }
  return writes;
}

/** The value that releases a throttled writer: the kernel refuses 0 for "unlimited". */
export function ioLift(disk: string): string {
  return `${disk} rbps=max wbps=max riops=max wiops=max`;
}

/** The cage's own first process counts too, so a job could not start with less. */
const pidsMin = 2;

function exactly(part: LimitPart, file: string, value: string): LimitWrite {
  return { part, file, value, isTaken: (text) => text === value };
}
