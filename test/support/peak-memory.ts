import { readFileSync } from "node:fs";

/** The most memory that a process has had so far, in MiB; null when it is gone. */
export function peakMib(pid: number): number | null {
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
    return Number(kib) / 1024;
  } catch {
    return null;
  }
}

/** Looks again and again until the process has ended; resolves with the last that was seen. */
export async function watchPeakMib(pid: number, hasEnded: () => boolean): Promise<number> {
  let peak = 0;
  while (!hasEnded()) {
    peak = peakMib(pid) ?? peak;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return peak;
}
