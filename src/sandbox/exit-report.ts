import { getSystemErrorName } from "node:util";
import { type Frame, fieldU32, fieldU64 } from "./launcher-frames.ts";
import { outputEnd, tag } from "./launcher-protocol.ts";

export type ExitReport = {
  exitCode: number | null;
  signo: number | null;
  cpuUs: number;
  rssBytesMax: number;
  isOutputLimited: boolean;
  /** Why the output could not be written down; the job was killed for it. */
  outputFailure: string | null;
};

/** What an EXITED frame says. */
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
  };
}

/** ENOENT and the like. */
export function errnoName(errno: number): string {
  return errno === 0 ? "UNKNOWN" : getSystemErrorName(-errno);
}
