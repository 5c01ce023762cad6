import type { Command } from "commander";
import { WritError } from "../../../core/errors.ts";
import {
  ioClasses,
  type LimitsText,
  limitHelp,
  networks,
  parseCpu,
  parseMemory,
  pidsDefault,
  pidsRange,
} from "../../../core/limits.ts";
import type { CliContext } from "../../context.ts";
import { collect, parsed, wholeNumber } from "../../program.ts";

export type LimitFlags = {
  cpu?: string;
  memory?: string;
  io?: LimitsText["io"];
  pids?: number;
  network?: LimitsText["network"];
  allow?: string[];
  inject?: string[];
};
export type EnvironmentFlags = { env?: string[]; cwd?: string };

/** What the hub sets where a flag is left out. */
type Defaults = { cpu: string; memory: string; io: string };

/** The limits of a process: --cpu, --memory, --io, --pids, --network. */
export function addLimitOptions(command: Command, { cpu, memory, io }: Defaults): Command {
  return command
    .option(
      "--cpu <cores>",
      `CPU limit: ${limitHelp.cpu} (default: ${cpu})`,
      checkedBy(parseCpu, limitHelp.cpu),
    )
    .option(
      "--mem, --memory <bytes>",
      `memory limit: ${limitHelp.memory} (default: ${memory})`,
      checkedBy(parseMemory, limitHelp.memory),
    )
    .option(
      "--io <class>",
      `disk I/O class: ${limitHelp.io} (default: ${io})`,
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
    );
}

/** What a job may reach has a meaning in a closed network only, so to name something closes it. */
export function addEgressOptions(command: Command): Command {
  return command
    .option(
      "--allow <host:port>",
      "close the network except for this host, such as api.example.com:443; may be repeated",
      collect,
    )
    .option(
      "--inject <name>",
      "close the network, and let the worker add this secret to requests; may be repeated",
      collect,
    );
}

export function limitsOf({ cpu, memory, io, pids, network, allow, inject }: LimitFlags): LimitsText {
  const isClosed = allow !== undefined || inject !== undefined;
  return { cpu, memory, io, pids, network: network ?? (isClosed ? "closed" : undefined) };
}

export function egressOf({ allow, inject }: LimitFlags): { allow: string[]; inject?: string[] } | undefined {
  if (allow === undefined && inject === undefined) return undefined;
  return { allow: allow ?? [], ...(inject === undefined ? {} : { inject }) };
}

export function addEnvOption(command: Command): Command {
  return command.option(
    "--env <name=value>",
    "set an environment variable; NAME alone copies its value from your environment",
    collect,
  );
}

export function addCwdOption(command: Command): Command {
  return command.option("--cwd <dir>", "working directory of the command (default: a folder of its own)");
}

export function environmentOf(
  { env: given = [] }: EnvironmentFlags,
  env: CliContext["env"],
): Record<string, string> {
  return Object.fromEntries(given.map((text) => readVariable(text, env)));
}

/** The text itself, if it can be read; the hub reads it once more. */
function checkedBy(read: (text: string) => unknown, allowed: string): (text: string) => string {
  return parsed((text) => (read(text) === undefined ? undefined : text), allowed);
}

function oneOf(names: readonly string[]): (text: string) => string | undefined {
  return (text) => names.find((name) => name === text);
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
