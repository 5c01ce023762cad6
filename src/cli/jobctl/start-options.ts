import type { Command } from "commander";
import type { StartInput } from "../../client/index.ts";
import { WritError } from "../../core/errors.ts";
import { limitHelp, pidsRange } from "../../core/limits.ts";
import type { CliContext } from "../context.ts";
import { parseDuration } from "../duration.ts";
import { collect, parsed, wholeNumber } from "../program.ts";

export type StartFlags = {
  cpu?: string;
  memory?: string;
  io?: string;
  pids?: number;
  network?: string;
  timeout?: number;
  tag?: string[];
  env?: string[];
  cwd?: string;
  attempts?: number;
};

/** What `start` and `run` have in common. */
export function addStartOptions(command: Command): void {
  command
    .usage("[options] COMMAND [ARGS...]")
    .option("--cpu <cores>", limitHelp.cpu)
    .option("--mem, --memory <bytes>", limitHelp.memory)
    .option("--io <class>", limitHelp.io)
    .option("--pids <n>", "at most so many processes", wholeNumber(pidsRange.min, pidsRange.max))
    .option("--network <kind>", limitHelp.network)
    .option(
      "--timeout <time>",
      "how long it may run, such as 30s, 10m or 1h",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option("--tag <tag>", "only on workers with this tag; may be repeated", collect)
    .option("--env <name=value>", "a variable for it; a name alone takes your own value of it", collect)
    .option("--cwd <dir>", "where it starts")
    .option("--attempts <n>", "how often it may be tried", wholeNumber(1, 100))
    .addHelpText(
      "after",
      "\nThe options from --cpu to --tag may also stand after COMMAND; all others only before it.\nEvery other word belongs to COMMAND, and so does everything after --.",
    );
}

/** The job that the words and flags describe. What they leave out, the hub sets. */
export function startInput(context: Pick<CliContext, "words" | "env">, flags: StartFlags): StartInput {
  const { words = [] } = context;
  if (words.length === 0) {
    const example = "such as: jobctl start echo hello";
    throw new WritError("INVALID_ARGUMENT", `there is no command to run, ${example}`);
  }
  const { cpu, memory, io, pids, network, timeout } = flags;
  return {
    command: words,
    limits: { cpu, memory, io, pids, network },
    env: Object.fromEntries((flags.env ?? []).map((text) => readVariable(text, context.env))),
    cwd: flags.cwd,
    // Zero would mean no limit at all.
    timeoutSec: timeout === undefined ? undefined : Math.max(1, Math.ceil(timeout / 1000)),
    tags: flags.tag,
    maxAttempts: flags.attempts,
  };
}

/** A value on the command line can be seen by everybody on the machine, so a secret is given by its name alone. */
function readVariable(text: string, env: CliContext["env"]): [name: string, value: string] {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const value = equals === -1 ? env[name] : text.slice(equals + 1);
  if (name !== "" && value !== undefined) return [name, value];
  const what = name === "" ? "has no name" : "has no value, and there is none in your environment";
  throw new WritError("INVALID_ARGUMENT", `--env ${JSON.stringify(name || text)} ${what}`);
}
