import type { JobInput } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { type EnvironmentFlags, environmentOf } from "../run/process-options.ts";
import { readJson } from "./read-json.ts";

/** The kinds that run the command after `--`. */
export const commandKinds = ["exec", "exec_per_job", "persistent_http"] as const;
type CommandKind = (typeof commandKinds)[number];

export type RunFlags = EnvironmentFlags & {
  exec?: boolean;
  kind?: CommandKind;
  port?: number;
  inputJson?: string;
  secret?: string[];
  container?: string;
  solverUrl?: string;
  solverChecksum?: string;
};

/** What to run, by the flags and the words after them; undefined for the handler of the type. */
export async function describeRun(
  context: CliContext,
  words: string[],
  flags: RunFlags,
): Promise<JobInput["run"]> {
  const kind = kindOf(flags);
  refuseHalfSolver(kind, flags);
  if (kind === undefined) {
    refuseWithoutKind(words, flags);
    const { solverUrl: url, solverChecksum: checksum } = flags;
    return url === undefined || checksum === undefined ? undefined : { kind: "solver", url, checksum };
  }
  const flag = flags.exec ? "--exec" : `--kind ${kind}`;
  if (words.length === 0) throw wrong(`${flag}: no command given; for example: ${flag} -- echo hello`);
  if (kind !== "persistent_http" && flags.port !== undefined)
    throw wrong("--port: belongs to --kind persistent_http");
  const secrets = flags.secret === undefined ? {} : { secrets: flags.secret };
  if (kind === "exec") {
    if (flags.inputJson !== undefined)
      throw wrong("--input-json: belongs to --kind exec_per_job and persistent_http; use --params");
    if (flags.container !== undefined)
      throw wrong("--container: belongs to --kind exec_per_job and persistent_http");
    const env = flags.env === undefined ? {} : { env: environmentOf(flags, context.env) };
    const cwd = flags.cwd === undefined ? {} : { cwd: flags.cwd };
    return { kind, argv: words, ...env, ...cwd, ...secrets };
  }
  refuseEnvironment(flags);
  const input = flags.inputJson === undefined ? {} : { job_input: await readInput(context, flags.inputJson) };
  const container = flags.container === undefined ? {} : { container: flags.container };
  const run = { worker_command: words, ...input, ...secrets, ...container };
  if (kind === "exec_per_job") return { kind, ...run };
  const { port } = flags;
  if (port === undefined) throw wrong("--port: is missing; give the port that the worker listens on");
  return { kind, port, ...run };
}

function kindOf({ exec, kind }: RunFlags): CommandKind | undefined {
  if (!exec) return kind;
  if (kind !== undefined && kind !== "exec") throw wrong("give --exec or --kind, not both");
  return "exec";
}

function refuseWithoutKind(words: string[], flags: RunFlags): void {
  if (words.length > 0) {
    const found = JSON.stringify(words[0]);
    throw wrong(`${found} is not expected here; to run a command, use --exec -- COMMAND`);
  }
  refuseEnvironment(flags);
  const given = (["port", "inputJson", "secret", "container"] as const).find(
    (name) => flags[name] !== undefined,
  );
  if (given === undefined) return;
  const flag = given === "inputJson" ? "--input-json" : `--${given}`;
  throw wrong(`${flag}: needs --kind and a command; for example: --kind exec_per_job -- ./worker.sh`);
}

/** Workers that serve jobs have the environment that they were started with, and handlers that of their configuration. */
function refuseEnvironment(flags: EnvironmentFlags): void {
  const given = (["env", "cwd"] as const).find((name) => flags[name] !== undefined);
  if (given !== undefined) throw wrong(`--${given}: is for commands; use it with --exec -- COMMAND`);
}

/** In the names of the flags; the hub knows only those of the fields. */
function refuseHalfSolver(kind: CommandKind | undefined, { solverUrl, solverChecksum }: RunFlags): void {
  if (solverUrl !== undefined && kind !== undefined)
    throw wrong("--solver-url: a job has either a solver or a command, not both");
  if (solverUrl !== undefined && solverChecksum === undefined)
    throw wrong("--solver-checksum: is required with --solver-url; `sha256sum FILE` prints it");
  if (solverUrl === undefined && solverChecksum !== undefined)
    throw wrong("--solver-checksum: is given without --solver-url");
}

function readInput(context: CliContext, given: string): Promise<unknown> {
  return readJson(context, "--input-json", given);
}

function wrong(message: string): WritError {
  return new WritError("INVALID_ARGUMENT", message);
}
