import { once } from "node:events";
import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { safeJson } from "./terminal.ts";

/** Prints a thing as JSON on one line when that was asked for, else as the text that `show` makes of it. */
export function print<T>(context: CliContext, command: Command, thing: T, show: (thing: T) => string): void {
  context.stdout.write(wantsJson(command) ? `${safeJson(thing)}\n` : show(thing));
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Writes and waits while the reader is behind, so that a slow terminal costs no memory. */
export async function writeSlowly(
  context: CliContext,
  data: string | Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (data.length === 0 || context.stdout.write(data)) return;
  await once(context.stdout, "drain", { signal });
}
