import type { Command } from "commander";
import type { Files, Jobs, StartInput } from "../../../client/index.ts";
import { stdinBytesMax } from "../../../core/limits.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { collectedBy, type FileFlags, uploadInputs } from "../files/file-options.ts";
import { readStdin } from "./read-stdin.ts";
import { type StartFlags, startInput } from "./start-options.ts";

type StartedJob = {
  jobs: Jobs;
  jobId: string;
  /** Undefined if the job has no files. */
  files: Files | undefined;
};

type StartJobInput = {
  context: CliContext;
  command: Command;
  flags: StartFlags;
  /** Ends the call that starts the job. */
  signal?: AbortSignal;
};

/** Starts the command that the flags and words describe, with its files, and calls `act` while the hub is open. */
export async function startJob(
  { context, command, flags, signal }: StartJobInput,
  act: (started: StartedJob) => Promise<void>,
): Promise<void> {
  const input = startInput(context, flags);
  const stdin = await readStdin(context, flags);
  const isLarge = stdin !== undefined && stdin.length > stdinBytesMax;
  if (!isLarge && !hasFiles(flags)) {
    return withJobs(context, command, async (jobs) => {
      await act({ jobs, jobId: await jobs.start({ ...input, stdin }, { signal }), files: undefined });
    });
  }
  // Files travel over HTTP, and so does the job that names them. Most jobs have none, and need not load what moves them.
  const { withWrit } = await import("../../connection/connection.ts");
  return withWrit(context, command, ({ files }) =>
    withJobs(
      context,
      command,
      async (jobs) => {
        const described: StartInput = {
          ...input,
          inputs: await uploadInputs(context, files, flags),
          collect: collectedBy(flags),
          ...(isLarge ? { stdinFrom: await uploadStdin(context, files, stdin) } : { stdin }),
        };
        await act({ jobs, jobId: await jobs.start(described, { signal }), files });
      },
      { overHttp: true },
    ),
  );
}

function hasFiles(flags: FileFlags): boolean {
  return flags.input !== undefined || collectedBy(flags) !== undefined;
}

async function uploadStdin({ stops }: CliContext, files: Files, bytes: Uint8Array) {
  const { folder_id, object_key, sha256 } = await files.upload(bytes, { signal: stops.requested });
  return { folder_id, object_key, sha256 };
}
