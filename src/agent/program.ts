import { Command, CommanderError, InvalidArgumentError } from "commander";
import { codeOf, WritError } from "../core/errors.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { loadAgentSettings } from "./agent-settings.ts";
import { openAgentLog } from "./logs/agent-log.ts";
import { showAgentLog, showJobLog, showWorkerLog } from "./logs/show-logs.ts";
import { agentFailedCode } from "./run-job.ts";
import { type RunJobOptions, runJobCommand, wrongCallLine } from "./run-job-command.ts";
import { readStartWords, startAgent } from "./start.ts";
import { stopJobCommand } from "./stop-job.ts";
import { keepWorker } from "./workers/keep-worker.ts";

/** What the entry file knows about its host. */
type AgentProcess = Omit<AgentDeps, "settings" | "clock" | "log"> & { args: readonly string[] };

const usageCode = 2;
const failedCode = 1;

/** Runs the command that the arguments name; resolves with the exit code. */
export async function runAgent(host: AgentProcess): Promise<number> {
  let exitCode = 0;
  const program = buildAgentProgram(host, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(host.args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return wrongCall(host, error);
    host.stderr.write(`writ-agent: ${error instanceof Error ? error.message : codeOf(error)}\n`);
    return error instanceof WritError && error.code === "CONFIG_INVALID" ? usageCode : failedCode;
  }
}

/** The caller of `run-job` reads one line, whatever is wrong. */
function wrongCall({ args, stdout }: AgentProcess, { exitCode, message }: CommanderError): number {
  if (exitCode === 0) return 0;
  if (args[0] !== "run-job") return usageCode;
  stdout.write(wrongCallLine(message.replace(/^error: /, "")));
  return agentFailedCode;
}

/** The commands and their options; also for the reference in the documentation. */
export function buildAgentProgram(host: AgentProcess, onExitCode: (code: number) => void): Command {
  const program = new Command("writ-agent")
    .description("Runs jobs inside a container, one for each call.")
    .version(host.version, "--version", "print the version")
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "writ-agent: ")),
    });
  const act =
    <Options>(run: (deps: AgentDeps, options: Options) => Promise<number>) =>
    async (options: Options) =>
      onExitCode(await run(openDeps(host), options));

  program
    .command("run-job")
    .description(
      "run one job and print its report as one line of JSON; without an option the payload is read from standard input",
    )
    .option("--payload-base64 <text>", "the payload, in base64")
    .option("--payload-file <file>", "the file that holds the payload")
    .option("--relay", "read one line with the payload, write the job's output as frames on standard error")
    .action(async (options: RunJobOptions) =>
      onExitCode(await runJobCommand(host, () => openDeps(host), options)),
    );
  program
    .command("stop-job")
    .description("end a running job, and wait until it has ended")
    .requiredOption("--job-id <id>", "the job")
    .action(act(stopJobCommand));
  addLogCommands(program, act);
  program
    .command("start")
    .description("show the logs of all workers as they are written, until it is stopped")
    .usage("[--from-start] [--warmup PORT COMMAND ARGS...]...")
    .option("--from-start", "show what the logs hold already, too")
    .option(
      "--warmup <words...>",
      "first start the HTTP worker with this command on this port; words after -- belong to it",
    )
    .argument("[words...]")
    .allowUnknownOption()
    .action(async () => onExitCode(await startAgent(openDeps(host), readStartWords(host.args.slice(1)))));
  program.command("keep-worker", { hidden: true }).action(act(keepWorker));
  return program;
}

type Act = <Options>(
  run: (deps: AgentDeps, options: Options) => Promise<number>,
) => (options: Options) => Promise<void>;

function addLogCommands(program: Command, act: Act): void {
  const tail = ["--tail <n>", "only the last lines", wholeNumber] as const;
  program
    .command("agent-log")
    .description("show the agent's own log")
    .option(...tail)
    .option("--grep <text>", "only lines that contain the text")
    .action(act(showAgentLog));
  program
    .command("worker-log")
    .description("show the log of a persistent worker")
    .requiredOption("--port <port>", "the port of the worker", wholeNumber)
    .option(...tail)
    .action(act(showWorkerLog));
  program
    .command("job-log")
    .description("show what a job wrote: its standard output and its standard error")
    .requiredOption("--job-id <id>", "the job")
    .option(...tail)
    .option("--follow", "continue until the job has ended")
    .action(act(showJobLog));
}

function openDeps(host: AgentProcess): AgentDeps {
  const clock = systemClock;
  const settings = loadAgentSettings(host.env);
  return { ...host, clock, settings, log: openAgentLog(settings, clock) };
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}
