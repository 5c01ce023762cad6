import { constants } from "node:os";
import { codeOf } from "../core/errors.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { CgroupCounts } from "./cgroup/cgroup-counts.ts";
import type { JobCgroup } from "./cgroup/job-cgroup.ts";
import type { ExitReport } from "./launcher/exit-report.ts";
import type { JobEnd, LaunchedJob } from "./launcher/launched-job.ts";
import { findTree } from "./plain/process-tree.ts";
import type { Isolation, ProcessExit, RunningProcess, Usage } from "./sandbox.ts";

type Cage = { job: LaunchedJob; cgroup: JobCgroup | null; isolation: Isolation };

/** A caged process as runners see it. It has ended when its cgroup is gone too. */
export function superviseCage(
  { logger }: { logger: Logger },
  { job, cgroup, isolation }: Cage,
): RunningProcess {
  const exited = job.ended.then(async (end) => {
    const report = end.kind === "exited" ? end.report : null;
    const usage = usageOf(report, report?.counted ?? cgroup?.counts());
    if (report?.isCgroupRemoved !== true) await removeCgroup(logger, cgroup);
    return exitOf(end, usage);
  });
  return {
    pid: job.pid,
    exited,
    isolation,
    usage: () => usageOf(null, cgroup?.counts()),
    pids: async () => cgroup?.pids() ?? findTree(job.pid),
    signalGroup: (signal) => job.signal(constants.signals[signal]),
    killTree: async () => {
      // The end of its first process ends all others; the cgroup also reaches processes that wait in throttled I/O.
      job.kill();
      cgroup?.kill();
    },
  };
}

/** A process whose launcher died before it reported the start. */
export function lostProcess(lost: string, isolation: Isolation): RunningProcess {
  const exited = Promise.resolve({ exitCode: null, signal: null, usage: {}, outputLimited: false, lost });
  return {
    pid: 0,
    exited,
    isolation,
    usage: () => ({}),
    pids: async () => [],
    signalGroup: () => {},
    killTree: async () => {},
  };
}

function exitOf(end: JobEnd, usage: Usage): ProcessExit {
  if (end.kind === "lost") {
    return { exitCode: null, signal: null, usage, outputLimited: false, lost: end.reason };
  }
  const { exitCode, signo, isOutputLimited, outputFailure, output, isHomeRemoved } = end.report;
  const unwritten =
    outputFailure === null ? {} : { unwritten: `its output could not be written: ${outputFailure}` };
  const held = output === null ? {} : { output, isHomeRemoved };
  return { exitCode, signal: nameOf(signo), usage, outputLimited: isOutputLimited, ...unwritten, ...held };
}

/** The kernel's counts for the whole cgroup, or else the launcher's counts for the processes that it waited for. */
function usageOf(report: ExitReport | null, counted: CgroupCounts | undefined): Usage {
  const cpuUs = counted?.cpuUs ?? report?.cpuUs;
  const peakBytes = counted?.memoryPeakBytes ?? report?.rssBytesMax;
  return {
    ...(cpuUs === undefined ? {} : { cpu_ms: Math.round(cpuUs / 1000) }),
    ...(peakBytes === undefined ? {} : { memory_peak_bytes: peakBytes }),
    ...(counted !== undefined && counted.oomKills > 0 ? { oom: true } : {}),
    ...known("memory_bytes", counted?.memoryBytes),
    ...known("pids", counted?.pids),
    ...known("pids_peak", counted?.pidsPeak),
    ...known("io_read_bytes", counted?.ioReadBytes),
    ...known("io_write_bytes", counted?.ioWriteBytes),
  };
}

function known(name: keyof Usage, value: number | null | undefined): Usage {
  return value === null || value === undefined ? {} : { [name]: value };
}

async function removeCgroup(logger: Logger, cgroup: JobCgroup | null): Promise<void> {
  try {
    if (cgroup === null || (await cgroup.remove())) return;
    logger.error({ cgroup: cgroup.path }, "processes of a job do not end; the next start will try again");
  } catch (error) {
    logger.error({ cgroup: cgroup?.path, code: codeOf(error) }, "a cgroup cannot be removed");
  }
}

const signalNames = new Map<number, string>(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
);

function nameOf(signo: number | null): string | null {
  return signo === null ? null : (signalNames.get(signo) ?? `signal ${signo}`);
}
