import { addCertificateOptions, addConnectionOptions } from "../connection-options.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { ReaderGone } from "../print.ts";
import { type ProgramShape, runProgram } from "../program.ts";
import { commandName, splitCommand } from "./split-command.ts";

export const jobctlShape: ProgramShape = {
  name: "jobctl",
  summary: "Run commands as jobs of a hub, watch them and read what they say.",
  addOptions(program) {
    addConnectionOptions(program);
    addCertificateOptions(program);
  },
  commands: {
    start: { summary: "start a command and print the id of its job", load: () => import("./start.ts") },
    run: {
      summary: "run a command, show its output and end with its exit code",
      load: () => import("./run.ts"),
    },
    attach: { summary: "take up a job again as if it had been run here", load: () => import("./attach.ts") },
    stream: {
      summary: "print the output of a job while it runs or later",
      load: () => import("./stream.ts"),
    },
    status: { summary: "show one job", load: () => import("./status.ts") },
    stop: { summary: "stop a job and all its processes", load: () => import("./stop.ts") },
    list: { summary: "list jobs, newest first", load: () => import("./list.ts") },
    watch: { summary: "show a live table of jobs", load: () => import("./watch.ts") },
    submit: { summary: "submit a job of any kind", load: () => import("./submit.ts") },
    result: { summary: "print the result of a job", load: () => import("./result.ts") },
    retry: {
      summary: "put a failed or quarantined job back into the queue",
      load: () => import("./retry.ts"),
    },
    events: { summary: "show what happens to one job, or follow all", load: () => import("./events.ts") },
    why: { summary: "explain why a job is where it is", load: () => import("./why.ts") },
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

// Whatever these two end with below 125 is the job's own code.
const commandsOfJobs: readonly string[] = ["run", "attach"];
const OUR_FAILURE = 125;

export async function runJobctl(context: CliContext): Promise<number> {
  const name = commandName(context.args) ?? "";
  try {
    Object.assign(context, splitCommand(context.args));
    return await runProgram(context, jobctlShape);
  } catch (error) {
    if (error instanceof ReaderGone) return context.exitCode;
    const exitCode = reportError(context, error);
    const isOurs = exitCode !== 0 && exitCode !== context.stops.exitCode;
    return isOurs && commandsOfJobs.includes(name) ? OUR_FAILURE : exitCode;
  }
}
