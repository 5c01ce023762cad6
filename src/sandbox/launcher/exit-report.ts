import { getSystemErrorName } from "node:util";
import type { SmallOutput } from "../../core/jobs/small-output.ts";
import { type CgroupCounts, cgroupCounts } from "../cgroup/cgroup-counts.ts";
import { type Frame, fieldU32, fieldU64 } from "./launcher-frames.ts";
import { outputEnd, tag } from "./launcher-protocol.ts";

export type ExitReport = {
  exitCode: number | null;
  signo: number | null;
  cpuUs: number;
  rssBytesMax: number;
  isOutputLimited: boolean;
  /** Why the output could not be written; the job was killed because of it. */
  outputFailure: string | null;
  /** What the kernel counted for the job's cgroup; null if it had none. */
  counted: CgroupCounts | null;
  /** Whether its cgroup is gone; otherwise it still has to be removed, which may have to wait. */
  isCgroupRemoved: boolean;
  /** All of the output, if the job ended while it was held; else it is in the files. */
  output: SmallOutput | null;
  /** Whether the directory that was made for the job is gone. */
  isHomeRemoved: boolean;
};

/** The content of an EXITED frame. */
export function exitReport(one: Frame): ExitReport {
  const ends = [tag.STDOUT_END, tag.STDERR_END].map((name) => one.fields.get(name));
  const failed = ends.find((end) => end?.readUInt32LE(0) === outputEnd.WRITE_FAILED);
  return {
    exitCode: fieldU32(one, tag.EXIT_CODE) ?? null,
    signo: fieldU32(one, tag.EXIT_SIGNAL) ?? null,
    cpuUs: fieldU64(one, tag.CPU_USER_US) + fieldU64(one, tag.CPU_SYSTEM_US),
    rssBytesMax: fieldU64(one, tag.RSS_BYTES_MAX),
    isOutputLimited: ends.some((end) => end?.readUInt32LE(0) === outputEnd.LIMIT),
    outputFailure: failed === undefined ? null : errnoName(failed.readUInt32LE(4)),
    counted: countsOf(one),
    isCgroupRemoved: fieldU32(one, tag.CGROUP_REMOVED) === 1,
    output: outputOf(one),
    isHomeRemoved: fieldU32(one, tag.HOME_REMOVED) === 1,
  };
}

/** Copied, because the frame is a part of a read from the socket, which may be much larger. */
function outputOf({ fields }: Frame): SmallOutput | null {
  const [stdout, stderr] = [fields.get(tag.STDOUT), fields.get(tag.STDERR)];
  return stdout === undefined || stderr === undefined
    ? null
    : { stdout: Uint8Array.from(stdout), stderr: Uint8Array.from(stderr) };
}

function countsOf(one: Frame): CgroupCounts | null {
  if (!one.fields.has(tag.CGROUP_REMOVED)) return null;
  const text = (name: number): string | null => one.fields.get(name)?.toString() ?? null;
  return cgroupCounts({
    cpuStat: text(tag.CGROUP_CPU_STAT),
    memoryPeak: text(tag.CGROUP_MEMORY_PEAK),
    memoryEvents: text(tag.CGROUP_MEMORY_EVENTS),
    pidsPeak: text(tag.CGROUP_PIDS_PEAK),
    ioStat: text(tag.CGROUP_IO_STAT),
  });
}

/** ENOENT and the like. */
export function errnoName(errno: number): string {
  return errno === 0 ? "UNKNOWN" : getSystemErrorName(-errno);
}
