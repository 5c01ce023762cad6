import type { Command } from "commander";
import type { StartInput } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { collect, parsed, wholeNumber } from "../../program.ts";
import { parseDuration } from "../../terminal/duration.ts";
import { addFileOptions, type FileFlags } from "../files/file-options.ts";
import {
  addCwdOption,
  addEgressOptions,
  addEnvOption,
  addLimitOptions,
  type EnvironmentFlags,
  egressOf,
  environmentOf,
  type LimitFlags,
  limitsOf,
} from "./process-options.ts";

export type StartFlags = LimitFlags &
  EnvironmentFlags &
  FileFlags & { timeout?: number; tag?: string[]; attempts?: number; stdin?: boolean };

/** The options of `start` and `run`. */
export function addStartOptions(command: Command): void {
  addLimitOptions(command.usage("[options] COMMAND [ARGS...]"), { cpu: "500m", memory: "100M", io: "low" })
    .option(
      "--timeout <time>",
      "stop each attempt after this time, such as 30s, 10m or 1h (default: no limit)",
      parsed(parseDuration, "a time such as 30s, 10m or 1h"),
    )
    .option("--tag <tag>", "run only on workers with this tag; may be repeated", collect);
  addEgressOptions(command);
  addEnvOption(command).option(
    "-i, --stdin",
    "send standard input to the command, at most 8 MiB (default: it reads nothing)",
  );
  addCwdOption(command);
  addFileOptions(command)
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

/** The job that the words and flags describe. The hub sets the default of whatever is left out. */
export function startInput(
  context: Pick<CliContext, "words" | "env" | "commandName">,
  flags: StartFlags,
): StartInput {
  const { words = [] } = context;
  if (words.length === 0) {
    const example = `jobctl ${context.commandName ?? "start"} echo hello`;
    throw new WritError("INVALID_ARGUMENT", `no command given; for example: ${example}`);
  }
  const { timeout } = flags;
  return {
    command: words,
    limits: limitsOf(flags),
    egress: egressOf(flags),
    env: environmentOf(flags, context.env),
    cwd: flags.cwd,
    // Zero would mean no limit.
    timeoutSec: timeout === undefined ? undefined : Math.max(1, Math.ceil(timeout / 1000)),
    tags: flags.tag,
    maxAttempts: flags.attempts,
  };
}
