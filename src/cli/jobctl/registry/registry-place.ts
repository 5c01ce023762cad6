import type { Command } from "commander";
import { codeOf } from "../../../core/errors.ts";
import type { RegistryPlace } from "../../../registry/registry-place.ts";
import type { CliContext } from "../../context.ts";
import { reportError } from "../../exit.ts";

export function addPlaceOptions(command: Command): Command {
  return command.option("--registry-dir <dir>", "the registry's directory (default: .writ/jobs)");
}

/** The registry that the words name, for the environment of this process. */
export function placeOf(context: CliContext, command: Command): RegistryPlace {
  let isReported = false;
  return {
    registryDir: command.opts<{ registryDir?: string }>().registryDir,
    cwd: context.cwd,
    env: context.env,
    onHistoryError(error) {
      if (isReported) return;
      isReported = true;
      context.stderr.write(`${context.program}: the history cannot be written (${codeOf(error)})\n`);
    },
  };
}

const usageCode = 2;

/** Runs a command of the registry. It ends with 1 for whatever is refused, and with 2 for wrong words. */
export async function withRegistry(context: CliContext, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const code = reportError(context, error);
    const isStopped = context.stops.requested.aborted && code === context.stops.exitCode;
    context.exitCode = code === usageCode || isStopped ? code : 1;
  }
}
