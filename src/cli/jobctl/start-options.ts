import type { Command } from "commander";
import type { StartInput } from "../../client/index.ts";
import { WritError } from "../../core/errors.ts";
import {
  ioClasses,
  limitHelp,
  networks,
  parseCpu,
  parseMemory,
  pidsDefault,
  pidsRange,
} from "../../core/limits.ts";
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
  stdin?: boolean;
};

/** The options of `start` and `run`. */
export function addStartOptions(command: Command): void {
  command
    .usage("[options] COMMAND [ARGS...]")
    .option(
      "--cpu <cores>",
      `CPU limit: ${limitHelp.cpu} (default: 500m)`,
      checkedBy(parseCpu, limitHelp.cpu),
    )
    .option(
      "--mem, --memory <bytes>",
      `memory limit: ${limitHelp.memory} (default: 100M)`,
      checkedBy(parseMemory, limitHelp.memory),
    )
    .option(
      "--io <class>",
      `disk I/O class: ${limitHelp.io} (default: low)`,
      checkedBy(oneOf(ioClasses), limitHelp.io),
    )
    .option(
      "--pids <n>",
      `process limit: ${limitHelp.pids} (default: ${pidsDefault})`,
      wholeNumber(pidsRange.min, pidsRange.max),
    )
    .option(
      "--network <kind>",
      `network: ${limitHelp.network} (default: host)`,
      checkedBy(oneOf(networks), limitHelp.network),
    )
    .option(
      "--timeout <time>",
      "stop each attempt after this time, such as 30s, 10m or 1h (default: no limit)",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option("--tag <tag>", "run only on workers with this tag; may be repeated", collect)
    .option(
      "--env <name=value>",
      "set an environment variable; NAME alone copies its value from your environment",
      collect,
    )
    .option("-i, --stdin", "send standard input to the command, at most 64 KiB (default: it reads nothing)")
    .option("--cwd <dir>", "working directory of the command (default: a folder of its own)")
    .option(
      "--attempts <n>",
      "number of attempts before the job counts as failed (default: 1)",
      wholeNumber(1, 100),
    )
    .addHelpText(
      "after",
      "\nThe options from --cpu to --tag may also follow COMMAND; all others must come before it.\nEvery other word, and everything after --, is passed to COMMAND.",
    );
}

/** The text itself, if it can be read; the hub reads it once more. */
function checkedBy(read: (text: string) => unknown, allowed: string): (text: string) => string {
  return parsed((text) => (read(text) === undefined ? undefined : text), allowed);
}

function oneOf(names: readonly string[]): (text: string) => string | undefined {
  return (text) => names.find((name) => name === text);
}

/** The job that the words and flags describe. The hub sets the default of whatever is left out. */
export function startInput(context: Pick<CliContext, "words" | "env">, flags: StartFlags): StartInput {
  const { words = [] } = context;
  if (words.length === 0) {
    throw new WritError("INVALID_ARGUMENT", "no command given; for example: jobctl start echo hello");
  }
  const { cpu, memory, io, pids, network, timeout } = flags;
  return {
    command: words,
    limits: { cpu, memory, io, pids, network },
    env: Object.fromEntries((flags.env ?? []).map((text) => readVariable(text, context.env))),
    cwd: flags.cwd,
    // Zero would mean no limit.
    timeoutSec: timeout === undefined ? undefined : Math.max(1, Math.ceil(timeout / 1000)),
    tags: flags.tag,
    maxAttempts: flags.attempts,
  };
}

/** Other users of the machine can see values on the command line, so a secret is passed by name only. */
function readVariable(text: string, env: CliContext["env"]): [name: string, value: string] {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const value = equals === -1 ? env[name] : text.slice(equals + 1);
  if (name !== "" && value !== undefined) return [name, value];
  const what = name === "" ? "the name is missing" : "your environment has no such variable";
  throw new WritError("INVALID_ARGUMENT", `--env ${JSON.stringify(name || text)}: ${what}; use NAME=VALUE`);
}
