import { mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import { resolveLimits } from "../../core/limits.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import type { JobCgroup } from "../cgroup/job-cgroup.ts";
import { JobCgroups } from "../cgroup/job-cgroups.ts";
import { launchPlan, workDirSeen } from "../launch-plan.ts";
import { type LauncherPlan, type MountStep, mountFlag, mountKind } from "../launcher/launcher-protocol.ts";
import { type HostFacts, type PartName, protectionBits } from "./host-facts.ts";
import type { ProbeOptions } from "./probe-host.ts";
import type { Rlimit } from "./rlimit-net.ts";

type TryResult =
  | { kind: "works" }
  | { kind: "launcher"; why: string }
  /** `isPassing`: the host had a shortage at that moment, so the result says nothing about these parts. */
  | { kind: "fails"; parts: readonly PartName[]; why: string; isPassing: boolean };

export type CageTrial = {
  base: HostFacts;
  options: ProbeOptions;
  parts: readonly PartName[];
  scratch: string;
  round: number;
  rlimits?: readonly Rlimit[];
};

/** The parts that a step of the launcher stands for. */
const partsOfStep: Record<string, readonly PartName[]> = {
  cgroup: ["cgroup"],
  clone: ["namespaces"],
  namespace: ["jail", "namespaces", "network"],
  mount: ["jail"],
  hostname: ["namespaces"],
  network: ["network"],
  give: ["user"],
  ids: ["user"],
  capabilities: ["capabilities"],
  "job-mount": ["idmap"],
  idmap: ["idmap"],
  "no-new-privs": ["no_new_privs", "seccomp"],
  seccomp: ["seccomp"],
};

/** Too many processes or open files, or too little memory. */
const shortageCodes: readonly string[] = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"];

/** Runs `true` in a cage with these parts. */
export async function tryCage(attempt: CageTrial): Promise<TryResult> {
  const { parts, scratch, round, base } = attempt;
  const workDir = join(scratch, `work-${round}`);
  let cgroup: JobCgroup | null = null;
  // A failure here has its own reason, which is not the launcher's.
  try {
    if (parts.includes("cgroup")) cgroup = makeCgroup(base, scratch);
  } catch (error) {
    const why = `no cgroup can be created: ${codeOf(error)}`;
    return { kind: "fails", parts: ["cgroup"], why, isPassing: shortageCodes.includes(codeOf(error)) };
  }
  try {
    mkdirSync(workDir, { mode: 0o700 });
    return await run(attempt, planTrue(attempt, workDir, cgroup));
  } catch (error) {
    return { kind: "launcher", why: (error as Error).message };
  } finally {
    await cgroup?.remove();
  }
}

function planTrue(attempt: CageTrial, workDir: string, cgroup: JobCgroup | null): LauncherPlan {
  const { base, options, parts, scratch, round, rlimits = [] } = attempt;
  const protections = parts.reduce((bits, part) => bits | (protectionBits[part] ?? 0), 0);
  const limits = resolveLimits({});
  return launchPlan({
    job: {
      jobId: "probe",
      attempt: 1,
      argv: ["true"],
      env: { PATH: "/usr/bin:/bin" },
      cwd: workDirSeen(workDir, protections),
      stdoutFile: join(scratch, `out-${round}`),
      stderrFile: join(scratch, `err-${round}`),
      outputBytesMax: 1024,
      limits,
      asked: [],
      workDir,
    },
    facts: base,
    decision: {
      isolation: { level: "best-effort", applied: [], missing: [] },
      protections,
      limits,
      rlimits: [...rlimits],
    },
    visiblePaths: options.visiblePaths,
    jobMounts: parts.includes("idmap") ? [idmappedMount(join(scratch, `owned-${round}`))] : [],
    cgroup,
  });
}

/** On the disk of the work dir. A repository may be on another disk; that is examined when a job needs it. */
function idmappedMount(dir: string): MountStep {
  mkdirSync(dir, { mode: 0o700 });
  const source = realpathSync(dir);
  const { uid, gid } = statSync(source);
  const flags = mountFlag.WRITABLE | mountFlag.IDMAP;
  return { kind: mountKind.JOB, target: "/tmp/owned", source, flags, uid, gid };
}

/** Named like the scratch directory, so that the same cleanup finds both. */
function makeCgroup(base: HostFacts, scratch: string): JobCgroup {
  return new JobCgroups(base.jobsDir!, systemClock).create(basename(scratch));
}

async function run({ options, parts: tried }: CageTrial, plan: LauncherPlan): Promise<TryResult> {
  const answer = await options.launcher.start(plan);
  if (answer.kind === "failed") {
    const why = `${answer.step}: ${answer.code}: ${answer.message}`;
    // A new namespace is refused with EPERM; any other failure of a clone is with the cgroup that it is created in.
    const isCgroups = answer.step === "clone" && answer.code !== "EPERM" && tried.includes("cgroup");
    const parts = isCgroups ? (["cgroup"] as const) : partsOfStep[answer.step];
    const isPassing = shortageCodes.includes(answer.code);
    return parts === undefined ? { kind: "launcher", why } : { kind: "fails", parts, why, isPassing };
  }
  const end = await answer.job.ended;
  if (end.kind === "lost") return { kind: "launcher", why: end.reason };
  if (end.report.exitCode === 0) return { kind: "works" };
  return {
    kind: "launcher",
    why: `"true" ended with ${end.report.exitCode ?? `signal ${end.report.signo}`} in a cage`,
  };
}
