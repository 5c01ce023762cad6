import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { lostProcess, superviseCage } from "./caged-process.ts";
import { limitParts, limitWrites } from "./cgroup/cgroup-limits.ts";
import type { JobCgroup } from "./cgroup/job-cgroup.ts";
import { JobCgroups } from "./cgroup/job-cgroups.ts";
import {
  type Decision,
  decideIsolation,
  decideWithout,
  defaultLevel,
  hostObstacle,
} from "./host/decide-isolation.ts";
import type { HostFacts } from "./host/host-facts.ts";
import { probeHost } from "./host/probe-host.ts";
import { jobMountSteps } from "./job-mounts.ts";
import { launchPlan, workDirSeen } from "./launch-plan.ts";
import { PlanRefused } from "./launcher/frame-writer.ts";
import type { StartAnswer } from "./launcher/launched-job.ts";
import { builtLauncherFile, Launcher } from "./launcher/launcher.ts";
import { LauncherLost } from "./launcher/launcher-lost.ts";
import { protect, protocol } from "./launcher/launcher-protocol.ts";
import { neverStarted, startPlain } from "./plain/plain-sandbox.ts";
import {
  type Asked,
  type Isolation,
  type IsolationLevel,
  type LaunchPlan,
  type RunningProcess,
  type Sandbox,
  SandboxUnavailable,
  type SpawnError,
} from "./sandbox.ts";

type FailedStart = Extract<StartAnswer, { kind: "failed" }>;

export type CageOptions = {
  /** The level (default: the best that the host supports). */
  level?: Exclude<IsolationLevel, "none"> | undefined;
  /** Where jobs have their files: `jobs/<job id>/…` in it. It must exist. */
  workDir: string;
  visiblePaths?: readonly string[] | undefined;
  clock: Clock;
  logger: Logger;
  /** Of this process. */
  pid: number;
  uid: number;
  /** Whether this process may move itself into a cgroup of its own, where limits need that. */
  mayMove: boolean;
  launcherFile?: string;
};

/** Starts processes in cages; one resident launcher serves them all. Why: ADR 0015. */
export class CagedSandbox implements Sandbox {
  readonly level: Exclude<IsolationLevel, "none">;
  readonly #options: CageOptions;
  readonly #launcher: Launcher;
  #facts: HostFacts;

  static async open(options: CageOptions): Promise<CagedSandbox> {
    const { clock, logger, launcherFile = builtLauncherFile } = options;
    const onDeath = (reason: string): void => {
      logger.error({ reason }, "the launcher died, and every process with it");
    };
    const onStalled = (code: string): void => {
      logger.warn(
        { code, dir: options.workDir },
        "the disk is full: the output of a job waits until there is room",
      );
    };
    const launcher = new Launcher({ file: launcherFile, clock, onDeath, onStalled });
    return new CagedSandbox(options, launcher, await probe(options, launcher));
  }

  private constructor(options: CageOptions, launcher: Launcher, facts: HostFacts) {
    this.#options = options;
    this.#launcher = launcher;
    this.#facts = facts;
    this.level = options.level ?? defaultLevel(facts);
  }

  get obstacle(): string | null {
    return hostObstacle(this.level, this.#facts);
  }

  get lacking(): { part: string; why: string }[] {
    return Object.entries(this.#facts.parts).flatMap(([part, { had, why }]) => (had ? [] : [{ part, why }]));
  }

  get processesMax(): number | undefined {
    return this.#facts.launcherObstacle === null ? protocol.JOBS_MAX : undefined;
  }

  get facts(): HostFacts {
    return this.#facts;
  }

  /** Opens files beneath a directory, even while another process changes names on the path. */
  get launcher(): Pick<Launcher, "openBeneath"> {
    return this.#launcher;
  }

  async probe(asked: Asked & { jobId?: string }): Promise<Isolation> {
    const { isolation } = decideIsolation(this.level, this.#facts, asked);
    const { jobsDir, parts } = this.#facts;
    if (asked.jobId === undefined || jobsDir === null || !parts.cgroup.had) return isolation;
    return { ...isolation, cgroup: new JobCgroups(jobsDir, this.#options.clock).pathOf(asked.jobId) };
  }

  workDirInside(workDir: string): string {
    return workDirSeen(workDir, this.#facts.parts.jail.had ? protect.MOUNT_NS : 0);
  }

  async start(plan: LaunchPlan): Promise<RunningProcess> {
    const wanted = decideIsolation(this.level, this.#facts, plan);
    // Without a launcher only best-effort gets here, and only for a worker that is not root.
    if (this.#facts.launcherObstacle !== null) return startPlain(plan, wanted.isolation);
    const { decision, cgroup } = await this.#makeCgroup(plan, wanted);
    try {
      return await this.#launch(plan, decision, cgroup);
    } catch (error) {
      await cgroup?.remove();
      if (error instanceof PlanRefused) return neverStarted(error, decision.isolation);
      if (!(error instanceof LauncherLost)) throw error;
      if (error.mayHaveBegun) return lostProcess(error.message, decision.isolation);
      throw new SandboxUnavailable(error.message, { isHostDown: true });
    }
  }

  async recheck(): Promise<string | null> {
    const facts = await probe(this.#options, this.#launcher);
    // A job in preparation relies on its path, so the jail must not change between two checks. If no process could be
    // started so far, there is no such job.
    const isSame = facts.parts.jail.had === this.#facts.parts.jail.had;
    if (this.level === "strict" || isSame || this.obstacle !== null) this.#facts = facts;
    return hostObstacle(this.level, facts);
  }

  async sweep(jobIds: readonly string[]): Promise<void> {
    if (this.#facts.jobsDir === null) return;
    const left = await new JobCgroups(this.#facts.jobsDir, this.#options.clock).sweep(jobIds);
    if (left.length > 0)
      this.#options.logger.error({ jobs: left }, "processes of an earlier worker do not end");
  }

  async close(): Promise<void> {
    await this.#launcher.stop();
  }

  async #makeCgroup(
    plan: LaunchPlan,
    decision: Decision,
  ): Promise<{ decision: Decision; cgroup: JobCgroup | null }> {
    const { jobsDir, disk, parts } = this.#facts;
    if (jobsDir === null || !parts.cgroup.had) return { decision, cgroup: null };
    let cgroup: JobCgroup;
    try {
      cgroup = new JobCgroups(jobsDir, this.#options.clock).create(plan.jobId);
    } catch (error) {
      const why = `no cgroup can be created: ${codeOf(error)}`;
      const limits = limitParts.filter((part) => decision.isolation.applied.includes(part));
      const lacking = ["cgroup" as const, ...limits].map((part) => ({ part, why }));
      return { decision: decideWithout(decision, this.#facts, { asked: plan, lacking }), cgroup: null };
    }
    try {
      const refused = cgroup.limit(limitWrites(decision.limits, disk));
      if (refused.length === 0) return { decision, cgroup };
      return { decision: decideWithout(decision, this.#facts, { asked: plan, lacking: refused }), cgroup };
    } catch (error) {
      await cgroup.remove();
      throw error;
    }
  }

  async #launch(plan: LaunchPlan, decision: Decision, cgroup: JobCgroup | null): Promise<RunningProcess> {
    const { isolation } = decision;
    const answer = await this.#launcher.start(
      launchPlan({
        job: plan,
        facts: this.#facts,
        decision,
        visiblePaths: this.#options.visiblePaths ?? [],
        jobMounts: await jobMountSteps(plan.mounts ?? []),
        cgroup,
      }),
      plan.listener?.take,
    );
    if (answer.kind === "started")
      return superviseCage(this.#options, { job: answer.job, cgroup, isolation });
    const error = startError(plan, answer);
    await cgroup?.remove();
    return neverStarted(error, isolation);
  }
}

/** The error if the job itself is at fault: its command, working directory or mounts. Throws for faults of the host. */
function startError(plan: LaunchPlan, { step, code, message }: FailedStart): SpawnError {
  switch (step) {
    case "exec":
      return { code, message: `${code}: ${message}` };
    case "cwd":
      return { code: "ENOTDIR", message: `the working directory ${plan.cwd} cannot be used: ${code}` };
    case "job-mount":
      return { code: "EINVAL", message: `a mount cannot be made: ${code}: ${message}` };
    default:
      throw new SandboxUnavailable(`${step}: ${code}: ${message}`, { isHostDown: !stepsOfOneJob.has(step) });
  }
}

/**
 * Idmapped mounts depend on the file system of the source; jobs without them can still be started. A launcher at its
 * limit of processes has room again when one of them ends.
 */
const stepsOfOneJob: ReadonlySet<string> = new Set(["idmap", "capacity"]);

async function probe(options: CageOptions, launcher: Launcher): Promise<HostFacts> {
  const scratchDir = join(options.workDir, "jobs");
  await mkdir(scratchDir, { recursive: true, mode: 0o700 });
  return probeHost({ ...options, scratchDir, visiblePaths: options.visiblePaths ?? [], launcher });
}
