import type { Command } from "commander";
import type { Jobs, RpcJob } from "../../../client/index.ts";
import { hasCode, WritError } from "../../../core/errors.ts";
import { isOver } from "../../../core/jobs/job-status.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import type { CliContext } from "../../context.ts";
import { programFlags } from "../../shared-options.ts";
import { whenAborted } from "../../stop-requests.ts";
import { ReaderGone, wantsJson } from "../../terminal/print.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import { shellWord } from "../../typed-name.ts";
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
  /** The limits that the caller asked for: a line at the end names each that the worker could not set. */
  asked?: LimitFlags;
  /** Whether the calls of its coding agent are told while it is followed. */
  isTold?: boolean;
  /** What Ctrl-C, or a reader that leaves, does: a job that this command started ends with it, any other continues. */
  onLeave: "stop" | "detach";
};

// The exit code of a process that writes to a closed pipe: 128 + SIGPIPE.
const readerGoneCode = 141;
// How long to wait for the last output of a job that has been stopped.
const lastOutputMsMax = 5000;

/**
 * Shows stdout and stderr of a job until it has ended, and returns its exit code. Ctrl-C stops the job first or leaves it
 * running, and says which.
 */
export function followJob(jobs: Jobs, input: FollowInput): Promise<number> {
  return namingJob(input, () => sayWaiting(input, (notices) => followUntilEnd(jobs, input, notices)));
}

/** A caller who can no longer follow the job must at least learn its id. */
export async function namingJob<T>(named: NamedJob, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw withJobId(error, named);
  }
}

type NamedJob = Pick<FollowInput, "command" | "jobId">;

function withJobId(error: unknown, { command, jobId }: NamedJob): unknown {
  if (!(error instanceof WritError)) return error;
  // A caller who may not see the job cannot attach to it either.
  if (hasCode(error, "NOT_FOUND", "PERMISSION_DENIED")) {
    const isNamed = error.message.includes(jobId);
    return isNamed ? error : new WritError(error.code, `job ${jobId}: ${error.message}`, error.details);
  }
  const own = error.details?.["advice"];
  if (typeof own === "string" && own.includes(jobId)) return error;
  const follow = `job ${jobId} may still be running; follow it again with: ${commandAgain({ command, jobId }, "attach")}`;
  const advice = typeof own === "string" ? `${own}; ${follow}` : follow;
  return new WritError(error.code, error.message, { ...error.details, advice });
}

/** A command about the same job, to be typed as it is. */
function commandAgain({ command, jobId }: NamedJob, name: string): string {
  return `jobctl ${givenConnection(command)}${name} ${jobId}`;
}

function say({ context }: FollowInput, text: string): void {
  context.stderr.write(`jobctl: ${neutraliseLine(text)}\n`);
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
  const status = sharedStatus(jobs, input.jobId);
  const copied = copyBoth(jobs, { ...input, notices, status }, reading.signal);
  try {
    const end = await Promise.race([copied, whenAborted(stops.requested).then(() => "stop" as const)]);
    if (end === "all") return conclude(input, await status(reading.signal));
    if (input.onLeave === "detach") {
      say(input, `detached; job ${input.jobId} continues; to stop it: ${commandAgain(input, "stop")}`);
      return end === "gone" ? readerGoneCode : stops.exitCode;
    }
    await stopJob(jobs, input);
    if (end === "gone") return readerGoneCode;
    // The job is stopped either way; output that fails to arrive changes nothing.
    await Promise.race([copied, systemClock.sleep(lastOutputMsMax, reading.signal)]).catch(() => {});
    return stops.exitCode;
  } finally {
    reading.abort();
    // Its error was thrown above, or is of reading that was just aborted.
    await copied.catch(() => {});
  }
}

type AskStatus = (signal: AbortSignal) => Promise<RpcJob>;

/** Asks for the job on behalf of both streams: they share a call in progress, and the answer once the job has ended. */
function sharedStatus(jobs: Jobs, jobId: string): AskStatus {
  let shared: Promise<RpcJob> | undefined;
  return (signal) => {
    shared ??= jobs
      .status(jobId, { signal })
      .then((job) => {
        if (!isOver(job) || job.output_arriving) shared = undefined;
        return job;
      })
      .catch((error) => {
        shared = undefined;
        throw error;
      });
    return shared;
  };
}

/** Returns `gone` when the reader of our output has closed its end before the job ended. */
async function copyBoth(
  jobs: Jobs,
  { notices, ...input }: FollowInput & { notices: WaitNotices; status: AskStatus },
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

function conclude(input: FollowInput, job: RpcJob): number {
  const { context, command, asked = {} } = input;
  if (!isOver(job))
    throw new WritError("INTERNAL", `the job's output has ended, but the job is ${job.state}`);
  if (wantsJson(command)) context.stdout.write(`${safeJson(job)}\n`);
  const { exitCode, message } = exitCodeOfJob(job);
  const told = [...unkeptLimits(asked, job), ...(message === undefined ? [] : [message])];
  for (const line of told) say(input, line);
  return exitCode;
}

/** Stopping takes a while if the job does not end by itself, so it is said before and after. */
async function stopJob(jobs: Jobs, input: FollowInput): Promise<void> {
  const { jobId } = input;
  say(input, `stopping job ${jobId}`);
  try {
    const { state } = await jobs.stop(jobId);
    say(input, state === "STOPPED" ? `job ${jobId} is stopped` : `job ${jobId} is ${state}`);
  } catch (error) {
    if (hasCode(error, "STATE_CONFLICT")) return say(input, `job ${jobId} had already ended`);
    if (!(error instanceof WritError)) throw error;
    const advice = `it may still be running; try: ${commandAgain(input, "stop")}`;
    throw new WritError(error.code, `the job could not be stopped: ${error.message}`, { advice });
  }
}
