import { type Command, Option } from "commander";
import type { Jobs } from "../../../client/jobs/jobs.ts";
import { hasCode, WritError } from "../../../core/errors.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import { isOver, type JobStatus } from "../../../core/jobs/job-status.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { addManyOptions, changeMany, type ManyFlags, meansMany } from "./change-many.ts";

const statesOf: Record<string, JobState[]> = { queued: ["pending", "assigned"], running: ["running"] };

export function define(command: Command, context: CliContext): void {
  command.argument("[id]", jobIdHelp);
  addManyOptions(command, "stop all jobs that the options choose, after showing how many they are");
  command
    .addOption(
      new Option("--state <state>", "with --all: only jobs in this state").choices(Object.keys(statesOf)),
    )
    .action((id: string | undefined, flags: ManyFlags) =>
      meansMany(id, flags) ? stopMany(context, command, flags) : stopOne(context, command, id!),
    );
}

function stopOne(context: CliContext, command: Command, id: string): Promise<void> {
  return withJobs(context, command, async (jobs) => {
    const job = await stop(jobs, await resolveJobId(jobs, id), context.stops.requested);
    print(context, command, job, ({ job_id, state }) => `${job_id} is ${state}\n`);
  });
}

/** The hub's refusal names a state of the HTTP API, which no other output of jobctl shows. */
async function stop(jobs: Jobs, id: string, signal: AbortSignal): Promise<JobStatus> {
  try {
    return await jobs.stop(id, { signal });
  } catch (error) {
    if (!hasCode(error, "STATE_CONFLICT")) throw error;
    const job = await jobs.status(id, { signal });
    if (!isOver(job)) throw error;
    throw new WritError("STATE_CONFLICT", `the job cannot be stopped: it is already ${job.state}`);
  }
}

function stopMany(context: CliContext, command: Command, flags: ManyFlags): Promise<void> {
  const status = flags.state === undefined ? Object.values(statesOf).flat() : statesOf[flags.state]!;
  const words = { verb: "Stop", outcome: "were told to stop" };
  return changeMany({ context, command, act: "cancel", flags, status, ...words });
}
