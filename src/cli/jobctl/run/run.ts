import type { Command } from "commander";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { addOutputOption } from "../files/file-options.ts";
import { saveArtifacts } from "../files/save-artifacts.ts";
import { rawHelp } from "./copy-output.ts";
import { followJob } from "./follow-job.ts";
import { startJob } from "./start-job.ts";
import { addStartOptions, type StartFlags } from "./start-options.ts";

export function define(command: Command, context: CliContext): void {
  addStartOptions(command);
  addOutputOption(command)
    .option("--detach", "print the id and leave the job running; `jobctl attach ID` follows it later")
    .option("--raw", rawHelp)
    .addHelpText(
      "after",
      "\nExit code: that of the command, or 128 + n after signal n, 126 when the command cannot be executed, 127 when it is\nnot found, 124 after --timeout, 125 when Writ itself fails, and 130 after Ctrl-C, which also stops the job.",
    )
    .action((flags: RunFlags) => {
      const { detach = false, raw = false, ...startFlags } = flags;
      const { output } = startFlags;
      if (detach && output !== undefined) throw cannotWait();
      // A signal does not interrupt the start: without its id, the job could not be stopped.
      return startJob({ context, command, flags: startFlags }, async ({ jobs, jobId, files }) => {
        if (detach) return print(context, command, { job_id: jobId }, () => `${jobId}\n`);
        context.exitCode = await followJob(jobs, {
          context,
          command,
          jobId,
          raw,
          attempt: 1,
          asked: startFlags,
          onLeave: "stop",
        });
        if (output === undefined || files === undefined || context.stops.requested.aborted) return;
        await saveArtifacts(context, files, { jobId, dir: output });
      });
    });
}

type RunFlags = StartFlags & { detach?: boolean; raw?: boolean };

function cannotWait(): WritError {
  return new WritError(
    "INVALID_ARGUMENT",
    "--output: with --detach the command does not wait for the files",
    {
      advice: "use --collect instead, and later `jobctl artifacts get ID`",
    },
  );
}
