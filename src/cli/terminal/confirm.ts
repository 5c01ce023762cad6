import { createInterface } from "node:readline/promises";
import type { ReadStream } from "node:tty";
import { WritError } from "../../core/errors.ts";
import type { CliContext } from "../context.ts";

export const yesOption = ["--yes", "do it without asking"] as const;

/**
 * Asks before an act that cannot be undone. Resolves to false if the answer is not yes; the command then ends with 1,
 * because what it was called for was not done. Without a terminal no person can answer, so the act is refused unless
 * --yes was given.
 */
export async function confirm(
  context: CliContext,
  { question, yes }: { question: string; yes: boolean | undefined },
): Promise<boolean> {
  if (yes || (await ask(context, question))) return true;
  context.exitCode = 1;
  return false;
}

async function ask(context: CliContext, question: string): Promise<boolean> {
  const { stdin, stderr, stops } = context;
  if ((stdin as Partial<ReadStream>).isTTY !== true || !stderr.isTTY) {
    throw new WritError("INVALID_ARGUMENT", `${question} There is no terminal to ask at`, {
      advice: "give --yes to do it without asking",
    });
  }
  const line = createInterface({ input: stdin, output: stderr, terminal: true });
  const left = new AbortController();
  line.once("SIGINT", () => left.abort());
  line.once("close", () => left.abort());
  try {
    const signal = AbortSignal.any([left.signal, stops.requested]);
    const isYes = /^y(?:es)?$/i.test((await line.question(`${question} [y/N] `, { signal })).trim());
    if (!isYes) stderr.write("nothing was done\n");
    return isYes;
  } catch {
    // Ctrl-C, or the end of the input: both mean no.
    stderr.write("\nnothing was done\n");
    return false;
  } finally {
    line.close();
  }
}
