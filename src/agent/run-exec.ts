import { constants } from "node:os";
import { resolveLimits } from "../core/limits.ts";
import { exitOutcome } from "../runners/exit-outcome.ts";
import { processEnvironment } from "../runners/process-environment.ts";
import { readResult } from "../runners/read-result.ts";
import type { StopReason } from "../runners/runner.ts";
import { waitForExit } from "../runners/wait-for-exit.ts";
import { plainIsolation, startPlain } from "../sandbox/plain/plain-sandbox.ts";
import type { LaunchPlan, ProcessExit } from "../sandbox/sandbox.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { type AgentJob, type JobEnding, stopGraceMs } from "./agent-job.ts";
import { JobLogs } from "./logs/job-logs.ts";
import { workerEnvironment } from "./workers/worker-environment.ts";

const isolation = plainIsolation();

/** Runs `worker_command… <base64 of the input>` without a cage: the container is the cage. */
export async function runExec(deps: AgentDeps, job: AgentJob): Promise<JobEnding> {
  const logs = await JobLogs.open(job.files, job.masks);
  const plan = planOf(deps, job, logs);
  const { exit, stoppedBy } = await runPlan(deps, job, { plan, logs }).finally(() => logs.close());
  logs.check();
  const result = await readResult({ resultFile: job.files.result, stdout: job.files.stdout });
  const ended = { argv: plan.argv, exit, stoppedBy, result, isolation };
  const outcome = exitOutcome(job, ended);
  return { outcome, exitCode: exitCodeOf(outcome, exit) };
}

async function runPlan(
  { clock, log }: AgentDeps,
  job: AgentJob,
  { plan, logs }: { plan: LaunchPlan; logs: JobLogs },
): ReturnType<typeof waitForExit<StopReason>> {
  const running = await startPlain(plan, isolation);
  try {
    await job.noteProcess(running.pid);
  } catch (error) {
    // The job has failed with its agent, and a process without a record could not be found later.
    await running.killTree();
    await running.exited;
    throw error;
  }
  const stops = {
    signal: AbortSignal.any([job.signal, logs.trouble]),
    hurry: AbortSignal.any([job.hurry, logs.trouble]),
  };
  const onStuck = (): void => log.error({ job: plan.jobId }, "the process of the job cannot be ended");
  return waitForExit({ clock, stopGraceMs, onStuck }, stops, running);
}

function planOf(deps: AgentDeps, { payload, files }: AgentJob, logs: JobLogs): LaunchPlan {
  const { worker_command, secrets = {}, attempt = 1 } = payload;
  return {
    jobId: payload.job_id,
    attempt,
    argv: [...worker_command, Buffer.from(payload.inputJson).toString("base64")],
    env: processEnvironment({
      jobId: payload.job_id,
      attempt,
      type: payload.job_class,
      inputFile: files.input,
      resultFile: files.result,
      outputDir: files.output,
      jobEnv: workerEnvironment(deps.env),
      secrets,
    }),
    cwd: deps.cwd,
    stdoutFile: logs.out,
    stderrFile: logs.err,
    // The logs keep to their limit themselves.
    outputBytesMax: Number.POSITIVE_INFINITY,
    limits: resolveLimits({}),
    asked: [],
    workDir: files.dir,
  };
}

/** As a shell reports it: 128 and the number of the signal that ended it. */
function exitCodeOf(outcome: JobEnding["outcome"], { exitCode, signal }: ProcessExit): number {
  if (exitCode !== null) return exitCode;
  if (signal !== null) return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  return outcome.kind === "failed" ? (outcome.exitCode ?? 1) : 1;
}
