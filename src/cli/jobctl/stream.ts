import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../program.ts";
import { resolveJobId } from "../short-id.ts";
import { withJobs } from "../with-jobs.ts";
import { copyOutput } from "./copy-output.ts";
import { sayNext } from "./follow-job.ts";

type StreamFlags = { stderr?: boolean; follow: boolean; attempt?: number; raw?: boolean };

const ATTEMPT_MAX = 2 ** 32 - 1;

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", "the job, or the start or end of its id")
    .option("--stderr", "its errors instead of its output")
    .option("--no-follow", "what is there now, and no more")
    .option(
      "--attempt <n>",
      "this attempt alone instead of the latest and those after it",
      wholeNumber(1, ATTEMPT_MAX),
    )
    .option("--raw", "write it to a terminal as it is, with all that it can do there")
    .action((id: string, { stderr = false, follow, attempt, raw = false }: StreamFlags) =>
      withJobs(context, command, async (jobs) => {
        await copyOutput(jobs, {
          context,
          command,
          jobId: await resolveJobId(jobs, id),
          stream: stderr ? "stderr" : "stdout",
          sink: context.stdout,
          raw,
          follow,
          attempt,
          goOn: attempt === undefined,
          onNext: (next) => sayNext(context, next.attempt, next.job),
          signal: context.stops.asked,
        });
      }),
    );
}
