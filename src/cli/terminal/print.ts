import { once } from "node:events";
import type { Command } from "commander";
import type { CliContext, TextSink } from "../context.ts";
import { safeJson } from "./terminal.ts";

/** Prints a value as one line of JSON with --json, otherwise as the text that `show` returns. */
export function print<T>(context: CliContext, command: Command, thing: T, show: (thing: T) => string): void {
  context.stdout.write(wantsJson(command) ? `${safeJson(thing)}\n` : show(thing));
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** The reader of our output has closed its end, so there is nothing left to do. */
export class ReaderGone extends Error {}

/** Writes, then waits while the reader is behind, so that a slow terminal does not fill memory. */
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
