import type { Command } from "commander";
import type { JobState } from "../../../core/jobs/job.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { addManyOptions, changeMany, type ManyFlags, meansMany } from "./change-many.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("[id]", jobIdHelp);
  addManyOptions(command, "retry all failed jobs that the options choose, after showing how many they are");
  command
    .option("--dead", "with --all: only dead letters")
    .action((id: string | undefined, flags: ManyFlags) =>
      meansMany(id, flags) ? retryMany(context, command, flags) : retryOne(context, command, id!),
    );
}

function retryOne(context: CliContext, command: Command, part: string): Promise<void> {
  return withWrit(context, command, async (writ) => {
    const { id } = await writ.retry(await resolveJobId(writ, part));
    print(context, command, { job_id: id, state: "QUEUED" }, () => `${id} is QUEUED again\n`);
  });
}

function retryMany(context: CliContext, command: Command, flags: ManyFlags): Promise<void> {
  const status: JobState[] = flags.dead ? ["quarantined"] : ["failed", "quarantined"];
  const words = { verb: "Retry", outcome: "are QUEUED again" };
  return changeMany({ context, command, act: "retry", flags, status, ...words });
}
