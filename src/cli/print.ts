import { once } from "node:events";
import type { Command } from "commander";
import type { CliContext, TextSink } from "./context.ts";
import { safeJson } from "./terminal.ts";

/** Prints a thing as JSON on one line when that was asked for, else as the text that `show` makes of it. */
export function print<T>(context: CliContext, command: Command, thing: T, show: (thing: T) => string): void {
  context.stdout.write(wantsJson(command) ? `${safeJson(thing)}\n` : show(thing));
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Whoever read our output has gone. There is nothing left to say, and nobody to say it to. */
export class ReaderGone extends Error {}

/** Writes and waits while the reader is behind, so that a slow terminal costs no memory. */
export async function writeSlowly(
  context: CliContext,
  data: string | Uint8Array,
  signal: AbortSignal,
  sink: TextSink = context.stdout,
): Promise<void> {
  if (sink.isGone) throw new ReaderGone();
  if (data.length === 0 || sink.write(data)) return;
  try {
    await once(sink, "drain", { signal });
  } catch (error) {
    throw signal.aborted ? error : new ReaderGone();
  }
}
