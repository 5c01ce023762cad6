import { cageMounts, isVisibleInCage, workDirInCage } from "./cage-mounts.ts";
import type { Decision } from "./host/decide-isolation.ts";
import type { HostFacts } from "./host/host-facts.ts";
import { rlimit } from "./host/rlimit-net.ts";
import { PlanRefused } from "./launcher/frame-writer.ts";
import {
  type CgroupPlan,
  type LauncherPlan,
  type MountStep,
  protect,
  protocol,
} from "./launcher/launcher-protocol.ts";
import type { LaunchPlan } from "./sandbox.ts";

/** `nobody` and `nogroup`: a user that owns nothing. */
export const cageIds = { uid: 65_534, gid: 65_534 } as const;

const hostname = "writ-job";
const openFiles = { soft: 1024, hard: 524_288 } as const;

type PlanInput = {
  job: LaunchPlan;
  facts: HostFacts;
  decision: Decision;
  visiblePaths: readonly string[];
  /** The job's own mounts, as made by `jobMountSteps`. */
  jobMounts: readonly MountStep[];
  cgroup: CgroupPlan | null;
};

/** The launcher's plan for a job. Throws PlanRefused if no process can be started from it. Why: ADR 0015, ADR 0020. */
export function launchPlan(input: PlanInput): LauncherPlan {
  const { job, facts, decision, visiblePaths, jobMounts, cgroup } = input;
  const { protections } = decision;
  const has = (bit: number): boolean => (protections & bit) !== 0;
  const hasJail = has(protect.MOUNT_NS);
  const shown = { rootEntries: facts.rootEntries, visiblePaths, jobMounts };
  // The launcher would refuse the whole plan, which counts as a fault of the host.
  if (Buffer.byteLength(job.cwd) > protocol.PATH_BYTES_MAX)
    throw new PlanRefused(
      "EINVAL",
      `the working directory has more than the ${protocol.PATH_BYTES_MAX} bytes of a path`,
    );
  if (hasJail && !isVisibleInCage(job.cwd, shown)) {
    throw new PlanRefused(
      "EINVAL",
      `the working directory ${job.cwd} is not visible to jobs; use /work, /tmp or a directory in execution.visible_paths of the worker`,
    );
  }
  const mounts = hasJail
    ? cageMounts({ ...shown, workDir: job.workDir, memoryBytes: decision.limits.memoryBytes })
    : [];
  return {
    argv: job.argv,
    env: Object.entries(job.env).map(([name, value]) => environmentEntry(name, value)),
    cwd: job.cwd,
    protections,
    ...(has(protect.IDS) ? { ids: cageIds } : {}),
    // Directories that the launcher creates belong to the job at once.
    ...(has(protect.IDS) && job.home === undefined ? { giveDir: job.workDir } : {}),
    ...(job.home === undefined ? {} : { home: job.home }),
    ...(job.holdMs === undefined ? {} : { holdMs: job.holdMs }),
    ...(job.holdWrittenMs === undefined ? {} : { holdWrittenMs: job.holdWrittenMs }),
    ...(job.listener === undefined ? {} : { listenPort: job.listener.port }),
    ...(cgroup === null ? {} : { cgroup }),
    mounts,
    ...(has(protect.UTS_NS) ? { hostname } : {}),
    stdoutFile: job.stdoutFile,
    stderrFile: job.stderrFile,
    stdoutBytesMax: job.outputBytesMax,
    stderrBytesMax: job.outputBytesMax,
    masks: job.masks ?? [],
    ...(job.stdin === undefined ? {} : { stdin: job.stdin }),
    ...(job.stdinFile === undefined ? {} : { stdinFile: job.stdinFile }),
    rlimits: [...rlimitsOf(facts), ...decision.rlimits],
  };
}

/** The path of its own directory as a process sees it: in a jail, one that reveals nothing about the host. */
export function workDirSeen(workDir: string, protections: number): string {
  return (protections & protect.MOUNT_NS) !== 0 ? workDirInCage : workDir;
}

function environmentEntry(name: string, value: string): string {
  if (name === "" || name.includes("="))
    throw new PlanRefused("EINVAL", `"${name}" is not the name of a variable`);
  return `${name}=${value}`;
}

function rlimitsOf({ openFilesMax }: HostFacts): LauncherPlan["rlimits"] {
  const hard = Math.min(openFiles.hard, openFilesMax);
  return [
    { resource: rlimit.CORE, soft: 0, hard: 0 },
    { resource: rlimit.NOFILE, soft: Math.min(openFiles.soft, hard), hard },
  ];
}
