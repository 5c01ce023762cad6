import { addConnectionOptions } from "../connection-options.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { type ProgramShape, runProgram } from "../program.ts";

export const jobctlShape: ProgramShape = {
  name: "jobctl",
  summary: "Submit jobs to a hub, watch them and read what they say.",
  addOptions: addConnectionOptions,
  commands: {
    submit: { summary: "submit a job", load: () => import("./submit.ts") },
    list: { summary: "list jobs, newest first", load: () => import("./list.ts") },
    status: { summary: "show one job", load: () => import("./status.ts") },
    result: { summary: "print the result of a job", load: () => import("./result.ts") },
    output: { summary: "print the output of a job", load: () => import("./output.ts") },
    events: { summary: "show what happens to one job, or follow all", load: () => import("./events.ts") },
    why: { summary: "explain why a job is where it is", load: () => import("./why.ts") },
    cancel: { summary: "cancel a job", load: () => import("./cancel.ts") },
    retry: {
      summary: "put a failed or quarantined job back into the queue",
      load: () => import("./retry.ts"),
    },
    verify: {
      summary: "check what was ordered, who could run it and what came out",
      load: () => import("./verify.ts"),
    },
    audit: { summary: "search the audit trail", load: () => import("./audit.ts") },
    workers: { summary: "list the workers", load: () => import("./workers.ts") },
    completion: {
      summary: "print a completion script for your shell",
      load: () => import("./completion.ts"),
    },
  },
};

export async function runJobctl(context: CliContext): Promise<number> {
  try {
    return await runProgram(context, jobctlShape);
  } catch (error) {
    return reportError(context, error);
  }
}
