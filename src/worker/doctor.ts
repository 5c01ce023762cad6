import { access, constants, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { plainSandbox } from "../sandbox/plain-sandbox.ts";

/** One thing that a worker needs of its host: what was found, and what to do when that is not enough. */
export type HostFinding = { part: string; isFine: boolean; had: string; advice: string | null };

const nodeMajorMin = 26;
const diskFreeBytesMin = 1024 ** 3;

/** What this host can give to a worker, in the order in which one would look at it. */
export async function probeWorkerHost(input: {
  workDir: string;
  nodeVersion: string;
}): Promise<HostFinding[]> {
  return [
    probeNode(input.nodeVersion),
    fine("cores", String(availableParallelism())),
    fine("memory", `${(totalmem() / 1024 ** 3).toFixed(1)} GiB`),
    await probeWorkDir(input.workDir),
    await probeIsolation(),
  ];
}

function probeNode(version: string): HostFinding {
  const isFine = Number(/^v?(\d+)/.exec(version)?.[1]) >= nodeMajorMin;
  return finding("node", isFine, version, `install Node ${nodeMajorMin} or newer`);
}

async function probeWorkDir(workDir: string): Promise<HostFinding> {
  try {
    await access(workDir, constants.R_OK | constants.W_OK | constants.X_OK);
    const disk = await statfs(workDir);
    const freeBytes = disk.bavail * disk.bsize;
    const had = `${workDir}, ${(freeBytes / 1024 ** 3).toFixed(1)} GiB free`;
    return finding(
      "work dir",
      freeBytes >= diskFreeBytesMin,
      had,
      "make room, or set WRIT_WORK_DIR to a larger disk",
    );
  } catch (error) {
    const had = `${workDir}: ${(error as NodeJS.ErrnoException).code}`;
    return finding("work dir", false, had, "make the directory writable, or set WRIT_WORK_DIR");
  }
}

async function probeIsolation(): Promise<HostFinding> {
  const { level, missing } = await plainSandbox.probe();
  const parts = missing.map(({ part }) => part).join(", ");
  const advice = "processes run as this user without a cage: run only jobs that you trust";
  return finding("isolation", missing.length === 0, `${level}, without ${parts}`, advice);
}

function fine(part: string, had: string): HostFinding {
  return { part, isFine: true, had, advice: null };
}

function finding(part: string, isFine: boolean, had: string, advice: string): HostFinding {
  return { part, isFine, had, advice: isFine ? null : advice };
}
