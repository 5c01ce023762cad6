import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { AgentReport } from "../contract/shapes/agent-shapes.ts";
import { WritError } from "../core/errors.ts";
import { keepFiles, withFiles } from "../runners/keep-files.ts";
import { maskOutcome } from "../runners/mask-outcome.ts";
import type { StopReason } from "../runners/runner.ts";
import { manifestName } from "../transfer/find-output-files.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { AgentJob, type JobEnding } from "./agent-job.ts";
import { Platform } from "./platform.ts";
import type { JobNames, ReadPayload } from "./read-payload.ts";
import type { RelayCaller } from "./relay-caller.ts";
import { relayOutput } from "./relay-output.ts";
import { runExec } from "./run-exec.ts";
import { runHttp } from "./workers/run-http.ts";

/** The exit code when it was the agent that failed, and not the job. */
export const agentFailedCode = 125;

export type FinishedJob = { report: AgentReport; resultJson: string | undefined };

/**
 * One job from its payload to its report: record → run → upload → record. Rejects when the agent itself fails.
 * Why: ADR 0045.
 */
export async function runJob(
  deps: AgentDeps,
  payload: ReadPayload,
  /** Given when somebody relays the job: its output is passed on, and its stops come from there too. */
  caller?: RelayCaller,
): Promise<FinishedJob> {
  const { clock, log } = deps;
  const stop = new AbortController();
  const end = (reason: StopReason): void => stop.abort(reason);
  const stops = caller === undefined ? [deps.stop] : [deps.stop, caller.gone];
  const platform = Platform.of(clock, payload, {
    newest: () => caller?.jobToken,
    stop: AbortSignal.any(stops),
    allowInsecure: deps.settings.allowInsecure,
  });
  for (const signal of stops) onAbort(signal, () => end("cancelled"));
  const hurry = caller === undefined ? deps.hurry : AbortSignal.any([deps.hurry, caller.hurry]);
  const job = await AgentJob.begin(deps, payload, { signal: stop.signal, hurry });
  const { timeout_sec } = job.lease;
  const timer = timeout_sec === 0 ? undefined : clock.setTimer(() => end("timeout"), timeout_sec * 1000);
  const subject = { job: payload.job_id };
  log.info(subject, `started class=${payload.job_class} kind=${payload.interface.kind}`);
  const finishRelay = caller === undefined ? undefined : relayOutput(deps.stderr, job.files);
  try {
    await platform?.start();
    const ending = masked(job, await keepOutputs(deps, job, await carryOut(deps, job), platform));
    await finishRelay?.();
    const finished = finishedJob(payload, ending, { isRelayed: caller !== undefined });
    await platform?.complete(finished);
    await job.end(ending, finished.report.error ?? null, clock.nowMs());
    log.info(subject, `ended exit_code=${ending.exitCode}${shownError(finished.report)}`);
    return finished;
  } catch (error) {
    const report = failedReport(error, payload);
    // The first error is the one to report.
    await job.fail(report.error!, clock.nowMs()).catch(() => {});
    throw error;
  } finally {
    timer?.cancel();
  }
}

function carryOut(deps: AgentDeps, job: AgentJob): Promise<JobEnding> {
  return job.payload.interface.kind === "exec_per_job" ? runExec(deps, job) : runHttp(deps, job);
}

/** A job that was stopped keeps nothing. */
async function keepOutputs(
  deps: AgentDeps,
  job: AgentJob,
  ending: JobEnding,
  platform: Platform | null,
): Promise<JobEnding> {
  const { outcome } = ending;
  const { output_location: location } = job.payload;
  if (outcome.kind === "released" || job.signal.aborted) return ending;
  if (platform === null || location === undefined) {
    noteUnkeptFiles(deps, job, platform === null ? "platform_url" : "output_location");
    return ending;
  }
  const kept = await keepFiles(platform.transfer, {
    workDir: job.files.dir,
    outputName: basename(job.files.output),
    location,
    askUrl: (file) => platform.urlFor(file),
    signal: job.signal,
  });
  const after = withFiles(outcome, kept);
  const isSpoiled = outcome.kind === "succeeded" && after.kind === "failed";
  return { ...ending, outcome: after, exitCode: isSpoiled ? 1 : ending.exitCode };
}

/** Once, before anything of it is printed, reported or recorded. */
function masked({ masks }: AgentJob, ending: JobEnding): JobEnding {
  return { ...ending, outcome: maskOutcome(ending.outcome, masks) };
}

/** A job that lists files expects that somebody keeps them. */
function noteUnkeptFiles({ log }: AgentDeps, { payload, files }: AgentJob, missing: string): void {
  if (!existsSync(join(files.output, manifestName))) return;
  const what = `the files of its ${manifestName} were not uploaded, because the payload has no ${missing}`;
  log.info({ job: payload.job_id }, `${what}; they are in ${files.output}`);
}

function finishedJob(
  payload: ReadPayload,
  { outcome, exitCode }: JobEnding,
  { isRelayed }: { isRelayed: boolean },
): FinishedJob {
  const { job_id, job_class } = payload;
  // Nothing but a disk that cannot be written gives a job back here.
  if (outcome.kind === "released") throw new WritError("STORE_UNAVAILABLE", outcome.reason);
  const files = outcome.outputFiles === undefined ? {} : { output_files: [...outcome.outputFiles] };
  if (outcome.kind === "succeeded") {
    const report = { success: true, job_id, job_class, exit_code: exitCode, ...files };
    return { report, resultJson: outcome.resultJson };
  }
  const known = { code: outcome.detail ?? outcome.code, message: outcome.reason };
  // A worker of Writ judges a failure by the codes that it knows; any other caller gets the program's own code.
  const error = (isRelayed ? null : ownError(outcome)) ?? known;
  const report = { success: false, job_id, job_class, exit_code: exitCode, error, ...files };
  return { report, resultJson: outcome.partialResultJson };
}

const ownCode = /^[!-~]{1,100}$/;

/** The code and message of the worker program. If a secret was masked in the code, it is not the program's any more. */
function ownError({
  workerCode,
  reason,
}: {
  workerCode?: string;
  reason: string;
}): AgentReport["error"] | null {
  if (workerCode === undefined || !ownCode.test(workerCode)) return null;
  if (reason === workerCode) return { code: workerCode, message: reason };
  const prefix = `${workerCode}: `;
  return reason.startsWith(prefix) ? { code: workerCode, message: reason.slice(prefix.length) } : null;
}

/** The report when the agent itself failed: nothing is known of the job. */
export function failedReport(error: unknown, names: Partial<JobNames>): AgentReport {
  const code = error instanceof WritError ? error.code : "INTERNAL";
  const message = error instanceof Error ? error.message : String(error);
  const { job_id = "", job_class = "" } = names;
  return { success: false, job_id, job_class, exit_code: agentFailedCode, error: { code, message } };
}

function shownError({ error }: AgentReport): string {
  return error === undefined ? "" : ` error=${error.code}: ${error.message}`;
}

function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener("abort", act, { once: true });
}
