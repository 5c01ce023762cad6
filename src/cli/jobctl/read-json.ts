import { readFile } from "node:fs/promises";
import { bodyBytes } from "../../contract/route.ts";
import { codeOf, WritError } from "../../core/errors.ts";
import type { CliContext } from "../context.ts";
import { collectInput } from "./collect-input.ts";

/** Reads the value of a flag: JSON, @FILE, or - for standard input. */
export async function readJson(
  { stdin }: Pick<CliContext, "stdin">,
  flag: string,
  given: string,
): Promise<unknown> {
  if (given === "-") return parseValue(await readAll(stdin, flag), `${flag} -`);
  if (given.startsWith("@")) return parseValue(await readNamed(given.slice(1), flag), `${flag} ${given}`);
  return parseValue(given, flag);
}

/**
 * Keeps numbers as they were written, because the hub signs what the user wrote: parsing would turn 1.0 into 1 and
 * round 12345678901234567890.
 */
function parseValue(text: string, where: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === "number" && context?.source !== undefined ? rawJson(context.source) : value,
    );
  } catch (error) {
    throw new WritError("INVALID_ARGUMENT", `${where}: not valid JSON (${(error as Error).message})`);
  }
}

/** Part of JavaScript since ES2026; the declarations do not know it yet. */
const rawJson = (JSON as typeof JSON & { rawJSON(text: string): unknown }).rawJSON;

async function readNamed(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new WritError("INVALID_ARGUMENT", `${flag} @${path}: the file cannot be read (${codeOf(error)})`);
  }
}

async function readAll(input: AsyncIterable<Buffer | string>, flag: string): Promise<string> {
  // The hub accepts no larger job.
  const bytes = await collectInput(input, bodyBytes.ordinary);
  if (bytes === null) throw new WritError("TOO_LARGE", `${flag} -: more than ${bodyBytes.ordinary} bytes`);
  return bytes.toString("utf8");
}
