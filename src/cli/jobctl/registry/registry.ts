import type { Command } from "commander";
import { invalidArgument } from "../../../core/errors.ts";
import { neutralise } from "../../../core/text/neutralise.ts";
import { isRegistryStatus, type RegistryJob, registryStatuses } from "../../../registry/job-record.ts";
import { pick } from "../../../registry/pick.ts";
import { get, list, macKey } from "../../../registry/read-jobs.ts";
import { type LoggedJob, listLogs, readLog } from "../../../registry/read-log.ts";
import { register } from "../../../registry/register.ts";
import { setStatus } from "../../../registry/set-status.ts";
import type { CliContext } from "../../context.ts";
import { collect, wholeNumber } from "../../program.ts";
import { print, wantsJson, writeSlowly } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import type { Column } from "../../terminal/table.ts";
import { neutraliseLine, safeJson, showName } from "../../terminal/terminal.ts";
import { readPrompt } from "../delegate/read-prompt.ts";
import { definePublish, defineSubscribe } from "./registry-messages.ts";
import { addPlaceOptions, placeOf, withRegistry } from "./registry-place.ts";

/** Nothing to pick is not an error, but a loop in a shell has to notice it. */
const nothingToPick = 3;

export function define(command: Command, context: CliContext): void {
  defineRegister(command.command("register"), context);
  defineList(command.command("list"), context);
  defineGet(command.command("get"), context);
  defineStatus(command.command("status"), context);
  definePick(command.command("pick"), context);
  definePublish(command.command("publish"), context);
  defineSubscribe(command.command("subscribe"), context);
  defineKey(command.command("key"), context);
  defineLogs(command.command("logs"), context);
}

type RegisterFlags = {
  prompt: string;
  agent: string;
  agentSession: string;
  timeout: number;
  idleTimeout: number;
  expectedArtifact?: string[];
  broker?: string;
  passwordEnv?: string;
  topicPrefix?: string;
  auth?: boolean;
};

const seconds = wholeNumber(1, 604_800);

function defineRegister(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("add a job for the agent in a session and print its id")
    .requiredOption(
      "--prompt <text>",
      "what the agent is to do; @FILE reads it from a file, and - from standard input",
    )
    .requiredOption("--agent <name>", "the agent that is to do it, such as claude-code")
    .requiredOption("--agent-session <name>", "the session whose agent picks it, such as tmux:claude")
    .option("--timeout <seconds>", "how long it may run after it was picked", seconds, 600)
    .option("--idle-timeout <seconds>", "how long subscribe waits for another event", seconds, 120)
    .option("--expected-artifact <path>", "a file that it is to leave; may be repeated", collect)
    .option("--broker <url>", "where its events go: mqtt://[user@]host[:port], or mqtts:// for TLS")
    .option("--password-env <name>", "the variable that holds the broker's password")
    .option("--topic-prefix <topic>", "the topic of its events (default: writ/jobs/ID)")
    .option("--auth", "let its events carry a MAC, so that forged ones are noticed")
    .action((flags: RegisterFlags) =>
      withRegistry(context, async () => {
        const { timeout, idleTimeout, expectedArtifact, ...rest } = flags;
        const prompt = await readPrompt(context, flags.prompt);
        const job = await register(placeOf(context, command), {
          ...rest,
          prompt,
          timeoutSec: timeout,
          idleTimeoutSec: idleTimeout,
          expectedArtifacts: expectedArtifact,
        });
        print(context, command, { job_id: job.job_id }, ({ job_id }) => `${job_id}\n`);
      }),
    );
}

function defineList(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("list the jobs, oldest first")
    .action(() =>
      withRegistry(context, async () => {
        const rows = await list(placeOf(context, command));
        await printRows(context, command, { rows, columns: jobColumns, none: "no jobs" });
      }),
    );
}

const jobColumns: Column<RegistryJob>[] = [
  { title: "ID", cell: (job) => job.job_id },
  { title: "STATUS", cell: (job) => job.status },
  { title: "SESSION", cell: (job) => job.agent_session, minWidth: 8 },
  { title: "AGENT", cell: (job) => job.agent, minWidth: 8 },
  { title: "UPDATED", cell: (job) => job.updated_at, minWidth: 11 },
  { title: "PROMPT", cell: (job) => showName(job.prompt), minWidth: 12 },
];

const jobOption = ["--job <id>", "the job's id"] as const;

function defineGet(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("print a job as JSON, or one field of it")
    .requiredOption(...jobOption)
    .option("--field <name>", "print only this field, such as prompt, as it is")
    .action(({ job, field }: { job: string; field?: string }) =>
      withRegistry(context, async () => {
        const found = await get(placeOf(context, command), job);
        if (field !== undefined) return printField(context, found, field);
        context.stdout.write(`${safeJson(found, wantsJson(command) ? undefined : 2)}\n`);
      }),
    );
}

/** Text goes into a pipe as it is, so that a shell can hand it on; a terminal is kept safe from it. */
function printField({ stdout }: CliContext, job: RegistryJob, name: string): void {
  if (!Object.hasOwn(job, name)) {
    const message = `${JSON.stringify(name)} is not a field; use one of ${Object.keys(job).join(", ")}`;
    throw invalidArgument({ path: "field", message });
  }
  const value = job[name as keyof RegistryJob];
  const text = typeof value === "string" ? value : safeJson(value);
  stdout.write(`${stdout.isTTY ? neutralise(text) : text}\n`);
}

function defineStatus(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("set a job's status; one that has ended keeps the status that it has")
    .requiredOption(...jobOption)
    .requiredOption("--set <status>", `one of ${registryStatuses.join(", ")}`)
    .action((flags: { job: string; set: string }) =>
      withRegistry(context, async () => {
        const { job_id, status } = await setStatus(placeOf(context, command), flags.job, flags.set);
        print(context, command, { job_id, status }, () => `${job_id} is ${status}\n`);
      }),
    );
}

function definePick(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("take the oldest pending job of a session and print its id; ends with 3 if there is none")
    .requiredOption("--agent-session <name>", "the session that asks")
    .action((flags: { agentSession: string }) =>
      withRegistry(context, async () => {
        const job = await pick(placeOf(context, command), flags);
        if (job === null) context.exitCode = nothingToPick;
        else print(context, command, { job_id: job.job_id }, ({ job_id }) => `${job_id}\n`);
      }),
    );
}

function defineKey(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("print the secret key of a job's MACs, for another program that checks its events")
    .requiredOption(...jobOption)
    .action(({ job }: { job: string }) =>
      withRegistry(context, async () => {
        const key = await macKey(placeOf(context, command), job);
        print(context, command, { job_id: job, key }, () => `${key}\n`);
      }),
    );
}

type LogsFlags = { tail?: number; list?: boolean };

function defineLogs(command: Command, context: CliContext): void {
  addPlaceOptions(command)
    .description("print the history of a job, which stays when the registry is gone")
    .argument("[id]", "the job's id")
    .option("--tail <n>", "only the last lines", wholeNumber(1, 1_000_000))
    .option("--list", "list the jobs that have a history instead")
    .action((id: string | undefined, flags: LogsFlags) =>
      withRegistry(context, async () => {
        if ((id === undefined) === (flags.list !== true))
          return command.error("error: give the id of a job, or --list");
        const place = placeOf(context, command);
        if (id === undefined) {
          const rows = await listLogs(place);
          return printRows(context, command, { rows, columns: logColumns, none: "no history" });
        }
        const lines = (await readLog(place, id, flags)).map((line) => {
          if (wantsJson(command)) return `${safeJson(line)}\n`;
          const { ts, event, from, to, reason, payload } = line;
          const change = to === undefined ? "" : `  ${from} → ${to}${reason ? ` (${reason})` : ""}`;
          const message = payload === undefined ? "" : `  ${safeJson(payload)}`;
          return `${neutraliseLine(`${ts}  ${event}${change}${message}`)}\n`;
        });
        await writeSlowly(context, lines.join(""), context.stops.requested);
      }),
    );
}

const logColumns: Column<LoggedJob>[] = [
  { title: "ID", cell: (job) => job.job_id },
  { title: "STATUS", cell: ({ status }) => (isRegistryStatus(status) ? status : "unknown") },
  { title: "UPDATED", cell: (job) => job.updated_at },
];
