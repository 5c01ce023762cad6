import { readFileSync } from "node:fs";
import { hasCode } from "../../core/errors.ts";

/**
 * Which process it is. The kernel gives a number to another process later, but never with the same start.
 * Why: ADR 0045.
 */
type ProcessIdentity = {
  pid: number;
  /** In clock ticks since the machine started. */
  start_ticks: number;
};

/** The identity of a living process, or null if there is none with this number. */
export function identityOf(pid: number): ProcessIdentity | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses and may contain anything, so count from its end.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const isDead = fields[0] === "Z" || fields[0] === "X";
    return isDead ? null : { pid, start_ticks: Number(fields[19]) };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH")) return null;
    throw error;
  }
}

export function isSameProcess(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return one.pid === other.pid && one.start_ticks === other.start_ticks;
}

export function isAlive({ pid, start_ticks }: ProcessIdentity): boolean {
  return identityOf(pid)?.start_ticks === start_ticks;
}

/** Signals exactly this process; one that has ended is not an error. */
export function signalProcess(process_: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(process_)) return;
  try {
    process.kill(process_.pid, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}
