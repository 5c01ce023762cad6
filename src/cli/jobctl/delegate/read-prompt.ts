import { resolve } from "node:path";
import { WritError } from "../../../core/errors.ts";
import { readSmallFile } from "../../../runtime/files/private-file.ts";
import type { CliContext } from "../../context.ts";
import { collectStdin } from "../run/collect-input.ts";

/** As many characters as the hub accepts. */
const promptCharsMax = 512 * 1024;
/** A character may take four bytes. */
const promptBytesMax = 4 * promptCharsMax;

/** The prompt itself, @FILE, or - for standard input. */
export async function readPrompt(context: CliContext, given: string): Promise<string> {
  const text = (await textOf(context, given)).trim();
  if (text === "")
    throw new WritError("INVALID_ARGUMENT", "prompt: it is empty; say what the agent is to do");
  if (text.length > promptCharsMax)
    throw new WritError("TOO_LARGE", `prompt: it has more than ${promptCharsMax} characters`);
  return text;
}

async function textOf(context: CliContext, given: string): Promise<string> {
  if (given === "-") {
    const bytes = await collectStdin(context, promptBytesMax);
    if (bytes === null) throw new WritError("TOO_LARGE", `prompt: more than ${promptBytesMax} bytes`);
    return bytes.toString("utf8");
  }
  if (!given.startsWith("@")) return given;
  const path = resolve(context.cwd, given.slice(1));
  const text = await readSmallFile(path, { mustBePrivate: false });
  if (text === null) throw new WritError("INVALID_ARGUMENT", `prompt ${given}: there is no such file`);
  return text;
}
