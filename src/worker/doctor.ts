import { existsSync } from "node:fs";
import { access, constants, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { codeOf } from "../core/errors.ts";
import { ownsPort } from "../runners/http-worker/listeners.ts";
import { type RunningWorker, readRunningList } from "../runners/persistent-http/running-list.ts";
import { tryLockFile } from "../runtime/files/file-lock.ts";
import { type CageReport, examineCage } from "../sandbox/host/examine-cage.ts";

export { examineAgent } from "./agent-check/examine-agent.ts";
export { explainSettings } from "./agents-file/explain-settings.ts";

/** One requirement of a worker on its host: what was found, and what to do if that is not enough. */
type HostFinding = { part: string; isFine: boolean; had: string; advice: string | null };

const nodeMajorMin = 26;
const diskFreeBytesMin = 1024 ** 3;

/** Checks what this host offers a worker, in the order in which a person would. */
export async function probeWorkerHost(input: {
  workDir: string;
  nodeVersion: string;
}): Promise<HostFinding[]> {
  return [
    probeNode(input.nodeVersion),
    fine("cores", String(availableParallelism())),
    fine("memory", `${(totalmem() / 1024 ** 3).toFixed(1)} GiB`),
    await probeWorkDir(input.workDir),
    ...(await probeCage(input.workDir)),
  ];
}

/** Whether a worker runs in this home. A worker that starts at the same moment waits until this check has ended. */
export function isWorkerRunning(workerHome: string): boolean {
  const lockPath = join(workerHome, "worker", "worker.lock");
  if (!existsSync(lockPath)) return false;
  const lock = tryLockFile(lockPath);
  lock?.release();
  return lock === null;
}

/** The processes that serve jobs over HTTP for the worker of this home, and listen. */
export async function listHttpWorkers(workerHome: string): Promise<RunningWorker[]> {
  const listed = await readRunningList(join(workerHome, "logs/http-workers"));
  // A killed worker leaves its list behind.
  const isRunning = await Promise.all(
    listed.map(({ pid, port, socket }) => (isAlive(pid) && hasSocket(socket)) || ownsPort(pid, port)),
  );
  return listed.filter((_, index) => isRunning[index]);
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

function hasSocket(socket: string | undefined): boolean {
  return socket !== undefined && existsSync(socket);
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
      "free some space, or set WRIT_WORK_DIR to a folder on a larger disk",
    );
  } catch (error) {
    const had = `${workDir}: ${codeOf(error)}`;
    return finding("work dir", false, had, "make the directory writable, or set WRIT_WORK_DIR");
  }
}

/** Checks each part of the cage by itself, to show which parts jobs would lack and how to fix that. */
async function probeCage(workDir: string): Promise<HostFinding[]> {
  const report = await examineCage({
    workDir,
    pid: process.pid,
    uid: process.getuid?.() ?? -1,
  });
  const { level, obstacle, summary } = report;
  const advice =
    obstacle === null
      ? (summary.advice ?? "each job records which parts of the cage it had")
      : "no process jobs are claimed here: a worker that runs as root never runs a job as root";
  return [
    finding("isolation", level === "strict", `${level} by default: ${summary.text}`, advice),
    ...partFindings(report, advice),
  ];
}

/** Combines parts that are missing for the same reason into one finding, and repeats no advice. */
function partFindings({ parts }: CageReport, given: string): HostFinding[] {
  const findings = parts.filter(({ had }) => had).map(({ part }) => fine(`cage: ${part}`, "there"));
  const reasons = new Set(parts.filter(({ had }) => !had).map(({ why }) => why));
  const advised = new Set([given]);
  for (const reason of reasons) {
    const lacking = parts.filter(({ had, why }) => !had && why === reason);
    const { advice } = lacking[0]!;
    findings.push({
      part: `cage: ${lacking.map(({ part }) => part).join(", ")}`,
      isFine: false,
      had: `missing: ${reason}`,
      advice: advised.has(advice) ? null : advice,
    });
    advised.add(advice);
  }
  return findings;
}

function fine(part: string, had: string): HostFinding {
  return { part, isFine: true, had, advice: null };
}

function finding(part: string, isFine: boolean, had: string, advice: string): HostFinding {
  return { part, isFine, had, advice: isFine ? null : advice };
}
