import type { Command } from "commander";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { wholeNumber } from "../../program.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { copyOutput, rawHelp } from "./copy-output.ts";
import { announceAttempt } from "./follow-job.ts";
import { sayWaiting } from "./say-waiting.ts";
import type { WaitNotices } from "./wait-notices.ts";

type StreamFlags = { stderr?: boolean; follow?: boolean; attempt?: number; raw?: boolean };

const attemptMax = 2 ** 32 - 1;

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", jobIdHelp)
    .option("--stderr", "print stderr instead of stdout")
    .option("--no-follow", "print what has been written so far and exit")
    .option(
      "--attempt <n>",
      "print only attempt N (default: the latest, and any that follow it)",
      wholeNumber(1, attemptMax),
    )
    .option("--raw", rawHelp)
    .action((id: string, { stderr = false, follow = true, attempt, raw = false }: StreamFlags) =>
      withJobs(context, command, async (jobs) => {
        const jobId = await resolveJobId(jobs, id);
        const copy = (notices?: WaitNotices): Promise<void> =>
          copyOutput(jobs, {
            context,
            command,
            jobId,
            stream: stderr ? "stderr" : "stdout",
            sink: context.stdout,
            raw,
            follow,
            attempt,
            goOn: attempt === undefined,
            onNext(next) {
              announceAttempt(context, next.attempt, next.job);
              notices?.lookAgain();
            },
            onTrouble: notices?.lookAgain,
            signal: context.stops.requested,
          });
        await (follow ? sayWaiting({ context, command, jobId }, copy) : copy());
      }),
    );
}
