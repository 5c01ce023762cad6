import { addCertificateOptions, addConnectionOptions } from "../connection/connection-options.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { type ProgramShape, runProgram } from "../program.ts";
import { commandName, splitCommand } from "./run/split-command.ts";

export const jobctlShape: ProgramShape = {
  name: "jobctl",
  summary: "Run commands as jobs on a hub, watch them and read their output.",
  addOptions(program) {
    addConnectionOptions(program);
    addCertificateOptions(program);
  },
  commands: {
    start: {
      summary: "start a command as a job and print the job's id",
      load: () => import("./run/start.ts"),
    },
    run: {
      summary: "run a command as a job, show its output and end with its exit code",
      load: () => import("./run/run.ts"),
    },
    attach: {
      summary: "follow a running job as `run` does: show its output and end with its exit code",
      load: () => import("./run/attach.ts"),
    },
    stream: {
      summary: "print a job's output, live or after it has ended",
      load: () => import("./run/stream.ts"),
    },
    status: {
      summary: "show a job: its state, limits, usage and isolation",
      load: () => import("./list/status.ts"),
    },
    stop: { summary: "stop a job and all its processes", load: () => import("./list/stop.ts") },
    list: { summary: "list jobs, newest first", load: () => import("./list/list.ts") },
    watch: { summary: "show a live table of jobs", load: () => import("./list/watch.ts") },
    submit: {
      summary: "submit a job with all options: a command, or parameters for a handler",
      load: () => import("./submit/submit.ts"),
    },
    delegate: {
      summary: "give a task to a coding agent in a repository, and show what it does",
      load: () => import("./delegate/delegate.ts"),
    },
    diff: { summary: "show what a coding agent has changed", load: () => import("./delegate/diff.ts") },
    apply: {
      summary: "put what a coding agent has changed into a repository, after asking",
      load: () => import("./delegate/apply.ts"),
    },
    reply: {
      summary: "give a coding agent another task on top of what it has changed",
      load: () => import("./delegate/reply.ts"),
    },
    compare: {
      summary:
        "show side by side what several agents have made of a task, and what each reports that it has cost",
      load: () => import("./delegate/compare.ts"),
    },
    result: { summary: "print a job's result as JSON", load: () => import("./submit/result.ts") },
    retry: {
      summary: "put a failed or quarantined job back into the queue",
      load: () => import("./list/retry.ts"),
    },
    hold: {
      summary: "keep pending jobs from being started until they are resumed",
      load: () => import("./list/hold.ts"),
    },
    resume: { summary: "let held jobs start again", load: () => import("./list/resume.ts") },
    events: {
      summary: "show the events of a job, or follow those of all jobs",
      load: () => import("./list/events.ts"),
    },
    why: { summary: "explain why a job is in its current state", load: () => import("./list/why.ts") },
    verify: {
      summary: "check that a job's document, result and output are what was signed",
      load: () => import("./trust/verify.ts"),
    },
    artifacts: {
      summary: "list, save and check the files that a job has left",
      load: () => import("./files/artifacts.ts"),
    },
    audit: { summary: "search the audit trail", load: () => import("./trust/audit.ts") },
    workers: { summary: "list the workers and what they accept", load: () => import("./workers.ts") },
    whoami: {
      summary: "show who you are to the hub, and by which credential",
      load: () => import("./trust/whoami.ts"),
    },
    schedules: {
      summary: "list, change, run and pause schedules, which submit jobs again and again",
      load: () => import("./schedules/schedules.ts"),
    },
    webhooks: {
      summary: "list and change webhooks, which tell other programs what happens to jobs",
      load: () => import("./webhooks/webhooks.ts"),
    },
    hooks: {
      summary: "list and change hooks, which let other programs make jobs",
      load: () => import("./hooks/hooks.ts"),
    },
    lanes: {
      summary: "list the lanes (concurrency keys and rate limits) that jobs name, with what fills them",
      load: () => import("./lanes/lanes.ts"),
    },
    registry: {
      summary: "keep a job list for agents in terminals, without a hub",
      needs: "database",
      load: () => import("./registry/registry.ts"),
    },
    completion: {
      summary: "print a completion script for your shell",
      load: () => import("./completion.ts"),
    },
  },
};

// An exit code of these below 125 is the job's own.
const commandsOfJobs: readonly string[] = ["run", "attach", "delegate"];
const ourFailureCode = 125;

export async function runJobctl(context: CliContext): Promise<number> {
  const name = commandName(context.args) ?? "";
  try {
    Object.assign(context, splitCommand(context.args));
    return await runProgram(context, jobctlShape);
  } catch (error) {
    const exitCode = reportError(context, error);
    const isOurs = exitCode !== 0 && exitCode !== context.stops.exitCode;
    return isOurs && commandsOfJobs.includes(name) ? ourFailureCode : exitCode;
  }
}
