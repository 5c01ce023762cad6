import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Every program of this machine with its parent, state, cgroup, and where in the kernel it waits: what there is to see when
 * something that should have ended has not.
 */
export function describeProcesses(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map(describeProcess)
    .filter((line) => line !== null)
    .join("\n");
}

/** Null for a thread of the kernel, and for a process that has ended meanwhile. */
function describeProcess(pid: string): string | null {
  const command = read(pid, "cmdline").replaceAll("\0", " ").trim().slice(0, 160);
  if (command === "") return null;
  const status = read(pid, "status");
  const part = (name: string): string => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(status)?.[1] ?? "?";
  const where = `${part("State")}, waits in ${read(pid, "wchan")}, ${read(pid, "cgroup").trim()}`;
  return `${pid} (parent ${part("PPid")}): ${command}: ${where}`;
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    return "";
  }
}
