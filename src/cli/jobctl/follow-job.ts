import type { Command } from "commander";
import type { Jobs, RpcJob } from "../../client/index.ts";
import { isOver } from "../../client/rpc-job.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { CliContext } from "../context.ts";
import { ReaderGone, wantsJson } from "../print.ts";
import { programFlags } from "../shared-options.ts";
import { whenAborted } from "../stop-requests.ts";
import { neutraliseLine, safeJson } from "../terminal.ts";
import { shellWord } from "../typed-name.ts";
import { copyOutput } from "./copy-output.ts";
import { exitCodeOfJob } from "./job-exit-code.ts";
import type { LimitFlags } from "./process-options.ts";
import { sayWaiting } from "./say-waiting.ts";
import { unkeptLimits } from "./unkept-limits.ts";
import type { WaitNotices } from "./wait-notices.ts";

type FollowInput = {
  context: CliContext;
  command: Command;
  jobId: string;
  raw: boolean;
  /** The attempt to begin with; the latest when undefined. */
  attempt?: number;
  /** The limits that the caller asked for: one that the worker could not set is told at the end. */
  asked?: LimitFlags;
};

// The exit code of a process that writes to a closed pipe: 128 + SIGPIPE.
const readerGoneCode = 141;
// How long to wait for the last output of a job that has been stopped.
const lastOutputMsMax = 5000;

/** Shows stdout and stderr of a job until it has ended, and returns its exit code. Ctrl-C stops the job first. */
export async function followJob(jobs: Jobs, input: FollowInput): Promise<number> {
  try {
    return await sayWaiting(input, (notices) => followUntilEnd(jobs, input, notices));
  } catch (error) {
    throw withJobId(error, input);
  }
}

/** A caller who can no longer follow the job must at least learn its id. */
function withJobId(error: unknown, { command, jobId }: FollowInput): unknown {
  if (!(error instanceof WritError)) return error;
  // A caller who may not see the job cannot attach to it either.
  if (hasCode(error, "NOT_FOUND", "PERMISSION_DENIED")) {
    const isNamed = error.message.includes(jobId);
    return isNamed ? error : new WritError(error.code, `job ${jobId}: ${error.message}`, error.details);
  }
  const own = error.details?.["advice"];
  if (typeof own === "string" && own.includes(jobId)) return error;
  const follow = `job ${jobId} may still be running; follow it again with: jobctl ${givenConnection(command)}attach ${jobId}`;
  const advice = typeof own === "string" ? `${own}; ${follow}` : follow;
  return new WritError(error.code, error.message, { ...error.details, advice });
}

/** The options by which this command found its hub, to be typed again. A token is a secret, and is never repeated. */
function givenConnection(command: Command): string {
  const flags = programFlags<Record<string, unknown>>(command);
  return ["home", "hub", "ca", "grpc", "user", "cert", "key"]
    .filter((name) => typeof flags[name] === "string")
    .map((name) => `--${name} ${shellWord(String(flags[name]))} `)
    .join("");
}

async function followUntilEnd(jobs: Jobs, input: FollowInput, notices: WaitNotices): Promise<number> {
  const { stops } = input.context;
  const reading = new AbortController();
  const copied = copyBoth(jobs, { ...input, notices }, reading.signal);
  try {
    const end = await Promise.race([copied, whenAborted(stops.requested).then(() => "stop" as const)]);
    if (end === "all") return await conclude(jobs, input);
    await stopJob(jobs, input.jobId);
    if (end === "gone") return readerGoneCode;
    await Promise.race([copied, systemClock.sleep(lastOutputMsMax, reading.signal)]).catch(() => {});
    return stops.exitCode;
  } finally {
    reading.abort();
    await copied.catch(() => {});
  }
}

/** Returns `gone` when the reader of our output has closed its end before the job ended. */
async function copyBoth(
  jobs: Jobs,
  { notices, ...input }: FollowInput & { notices: WaitNotices },
  signal: AbortSignal,
): Promise<"all" | "gone"> {
  const { context } = input;
  const onTrouble = notices.lookAgain;
  const onNext = ({ attempt, job }: { attempt: number; job: RpcJob }): void => {
    announceAttempt(context, attempt, job);
    notices.lookAgain();
  };
  const both = { ...input, goOn: true, onTrouble, signal };
  const copies = [
    copyOutput(jobs, { ...both, stream: "stdout", sink: context.stdout, onNext }),
    copyOutput(jobs, {
      ...both,
      stream: "stderr",
      sink: wantsJson(input.command) ? context.stdout : context.stderr,
    }),
  ];
  try {
    await Promise.all(copies);
    return "all";
  } catch (error) {
    if (error instanceof ReaderGone) return "gone";
    throw error;
  }
}

export function announceAttempt({ stderr }: CliContext, attempt: number, job: RpcJob): void {
  const why = job.reason === "" ? "" : ` (${neutraliseLine(job.reason)})`;
  stderr.write(`jobctl: attempt ${attempt - 1} has ended${why}; following attempt ${attempt}\n`);
}

async function conclude(jobs: Jobs, { context, command, jobId, asked = {} }: FollowInput): Promise<number> {
  const job = await jobs.status(jobId);
  if (!isOver(job))
    throw new WritError("INTERNAL", `the job's output has ended, but the job is ${job.state}`);
  if (wantsJson(command)) context.stdout.write(`${safeJson(job)}\n`);
  const { exitCode, message } = exitCodeOfJob(job);
  const told = [...unkeptLimits(asked, job), ...(message === undefined ? [] : [message])];
  for (const line of told) context.stderr.write(`jobctl: ${neutraliseLine(line)}\n`);
  return exitCode;
}

/** A job that has ended by itself in the meantime counts as stopped. */
async function stopJob(jobs: Jobs, jobId: string): Promise<void> {
  try {
    await jobs.stop(jobId);
  } catch (error) {
    if (hasCode(error, "STATE_CONFLICT")) return;
    if (!(error instanceof WritError)) throw error;
    const advice = `it may still be running; try: jobctl stop ${jobId}`;
    throw new WritError(error.code, `the job could not be stopped: ${error.message}`, { advice });
  }
}
