import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { agentJobId } from "../../contract/shapes/agent-shapes.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import { followFile } from "../../output/folder/follow-file.ts";
import type { AgentDeps } from "../agent-deps.ts";
import { jobFiles, workerFiles } from "../agent-settings.ts";
import { isOpen, type JobState, readJobState } from "../job-state.ts";
import { isAlive, isSameProcess } from "../workers/process-identity.ts";
import { readWorkerState } from "../workers/worker-state.ts";
import { lastLines, tailOffset } from "./tail-lines.ts";

/** For a log without --tail; all that is kept may be hundreds of megabytes. */
const tailDefault = 1000;
const lookMs = 100;

export async function showAgentLog(
  deps: AgentDeps,
  options: { tail?: number; grep?: string },
): Promise<number> {
  return showLines(deps, join(deps.settings.logDir, "agent.log"), options);
}

export async function showWorkerLog(
  deps: AgentDeps,
  options: { port: number; tail?: number },
): Promise<number> {
  const { log } = workerFiles(deps.settings, options.port);
  const isKnown = existsSync(log) || (await readWorkerState(deps.settings, options.port)) !== null;
  if (!isKnown) throw new WritError("NOT_FOUND", `this agent has no worker on port ${options.port}`);
  return showLines(deps, log, options);
}

async function showLines(
  { settings, stdout }: AgentDeps,
  file: string,
  { tail = tailDefault, grep }: { tail?: number; grep?: string },
): Promise<number> {
  const lines = await lastLines(file, { tail, grep, filesMax: settings.rotation.filesMax });
  for (const line of lines) stdout.write(`${line}\n`);
  return 0;
}

type JobLogOptions = { jobId: string; tail?: number; follow?: boolean };

/** Standard output goes to standard output, and standard error to standard error. */
export async function showJobLog(deps: AgentDeps, options: JobLogOptions): Promise<number> {
  const files = jobFiles(deps.settings, checkJobId(options.jobId));
  if ((await readJobState(files)) === null) throw unknownJob(options.jobId);
  const ended = options.follow === true ? () => jobEnd(deps, options.jobId) : () => Promise.resolve();
  const show = async (path: string, sink: Writable): Promise<void> => {
    const offset = options.tail === undefined ? 0 : await tailOffset(path, options.tail);
    for await (const piece of followFile({ path, offset, ended, signal: deps.stop })) sink.write(piece);
  };
  try {
    await Promise.all([show(files.stdout, deps.stdout), show(files.stderr, deps.stderr)]);
  } catch (error) {
    if (!deps.stop.aborted) throw error;
  }
  return 0;
}

/**
 * Resolves when the job has ended, or when its agent has gone; with `agent`, when the attempt of this agent has:
 * another one may begin at once.
 */
export async function jobEnd(
  { settings, clock, stop }: AgentDeps,
  jobId: string,
  agent?: JobState["meta"]["agent"],
): Promise<void> {
  while (true) {
    const state = await readJobState(jobFiles(settings, jobId));
    if (state === null || !isOpen(state) || !isAlive(state.meta.agent)) return;
    if (agent !== undefined && !isSameProcess(state.meta.agent, agent)) return;
    await clock.sleep(lookMs, stop);
  }
}

export function checkJobId(jobId: string): string {
  const parsed = agentJobId.safeParse(jobId);
  if (parsed.success) return parsed.data;
  throw invalidArgument({ path: "--job-id", message: parsed.error.issues[0]!.message });
}

export function unknownJob(jobId: string): WritError {
  return new WritError("NOT_FOUND", `this agent has no job ${jobId}`);
}
