import type { Command } from "commander";
import type { JobInput, Writ } from "../../../client/index.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { followJob } from "../run/follow-job.ts";
import { tellingCalls } from "../run/tell-calls.ts";
import { watchJob } from "../submit/watch-job.ts";
import { sayWhatChanged } from "./say-what-changed.ts";

/** Asks a model and has no calls to tell. */
export const chatAgent = "chat";

type Following = { detach?: boolean; wait?: boolean; raw?: boolean };

/** Submits a job for a coding agent, shows what the agent does, and ends as it ends. */
export async function submitToAgent(
  writ: Writ,
  {
    context,
    command,
    job,
    flags,
  }: { context: CliContext; command: Command; job: JobInput; flags: Following },
): Promise<void> {
  const { id } = await writ.submit(job);
  if (flags.detach) return print(context, command, { job_id: id }, () => `${id}\n`);
  if (flags.wait) await watchJob(writ, { context, command, id });
  else {
    await withJobs(context, command, async (jobs) => {
      const { raw = false } = flags;
      const isTold = job.run?.kind === "delegate" && job.run.agent !== chatAgent;
      const followed = { context, command, jobId: id, raw, isTold, attempt: 1, onLeave: "stop" } as const;
      context.exitCode = await tellingCalls({ context, command, jobId: id }, () => followJob(jobs, followed));
    });
  }
  if (!context.stops.requested.aborted) await sayWhatChanged(writ, { context, command, jobId: id });
}
