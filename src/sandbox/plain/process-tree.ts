import { readdir, readFile } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";

// Each round kills processes that were started during the one before; a fork bomb can only be stopped with a cgroup.
const roundsMax = 20;

/** Signals a process group; one that is gone, or has only processes of another user, is not an error. */
export function signalProcessGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH", "EPERM")) throw error;
  }
}

/**
 * Kills the group, and everything else of its session or its descendants that can still be found. A process that has
 * left the session and lost its parent cannot be found this way: only a cage holds those. Resolves with false if one of
 * them has become another user's, as after sudo, and cannot be ended by this worker.
 */
export async function killProcessTree(pid: number): Promise<boolean> {
  let isAllOurs = true;
  for (let round = 0; round < roundsMax; round++) {
    const members = await findTree(pid);
    signalProcessGroup(pid, "SIGKILL");
    const ours = members.filter(killOne);
    isAllOurs = ours.length === members.length;
    if (ours.length === 0) break;
  }
  return isAllOurs;
}

type ProcessRow = { pid: number; parent: number; session: number; isZombie: boolean };

/** The living processes of the session that `pid` leads, and the descendants of `pid`. */
export async function findTree(pid: number): Promise<number[]> {
  const rows = await readProcessTable();
  const family = new Set([pid]);
  // A child may be listed before its parent, so look until nothing new is found; each turn adds a generation.
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const row of rows) if (row.session === pid || family.has(row.parent)) family.add(row.pid);
  }
  return rows.filter((row) => family.has(row.pid) && !row.isZombie).map((row) => row.pid);
}

async function readProcessTable(): Promise<ProcessRow[]> {
  // Without /proc only the process group can be ended.
  const names = await readdir("/proc").catch(() => []);
  const rows = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readRow));
  return rows.filter((row) => row !== undefined);
}

async function readRow(pid: string): Promise<ProcessRow | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses and may contain anything, so count from its end.
    const [state, parent, , session] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      pid: Number(pid),
      parent: Number(parent),
      session: Number(session),
      isZombie: state === "Z" || state === "X",
    };
  } catch {
    // The process has ended since the list was read.
    return undefined;
  }
}

/** Returns false if the process belongs to another user. */
function killOne(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (hasCode(error, "EPERM")) return false;
    if (!hasCode(error, "ESRCH")) throw error;
  }
  return true;
}
