import { readFile } from "node:fs/promises";
import { bodyBytes } from "../../../contract/routes/route.ts";
import { codeOf, hasCode, WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { collectStdin } from "../run/collect-input.ts";

type Input = Pick<CliContext, "stdin" | "stops">;

/** Reads the value of a flag: JSON, @FILE, or - for standard input. */
export async function readJson(context: Input, flag: string, given: string): Promise<unknown> {
  if (given === "-") return parseJson(await readStdin(context, flag), `${flag} -`);
  if (given.startsWith("@"))
    return parseJson(await readNamed(given.slice(1), `${flag} @`), `${flag} ${given}`);
  return parseJson(given, flag);
}

/**
 * Reads a whole job: JSON if the file is called .json or begins with a brace, else YAML, in which numbers are kept as they
 * were written too.
 */
export async function readJobFile(context: Input, path: string): Promise<Record<string, unknown>> {
  const where = `--file ${path}`;
  const text = path === "-" ? await readStdin(context, "--file") : await readNamed(path, "--file ");
  const isJson = path.endsWith(".json") || (!/\.ya?ml$/.test(path) && /^\s*\{/.test(text));
  const job = isJson ? parseJson(text, where) : await parseYamlJob(text, where);
  if (typeof job === "object" && job !== null && !Array.isArray(job)) return job as Record<string, unknown>;
  throw new WritError("INVALID_ARGUMENT", `${where}: not a job; write one object with the fields of a job`);
}

/** YAML is loaded only when it is needed: jobctl has to start quickly. */
async function parseYamlJob(text: string, where: string): Promise<unknown> {
  const { parseYaml } = await import("../../../runtime/settings/yaml-file.ts");
  try {
    return parseYaml(where, text, { numberOf: (source) => numberAsWritten(source, where) }).data;
  } catch (error) {
    if (hasCode(error, "CONFIG_INVALID"))
      throw new WritError("INVALID_ARGUMENT", (error as WritError).message);
    throw error;
  }
}

/** YAML has numbers that JSON does not have, such as 0x1F and .inf. */
function numberAsWritten(source: string, where: string): unknown {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(source)) return rawJson(source);
  throw new WritError(
    "INVALID_ARGUMENT",
    `${where}: ${source} is not a number of JSON; write it as 31, 0.5 or 1e6`,
  );
}

/**
 * Keeps numbers as they were written, because the hub signs what the user wrote: parsing would turn 1.0 into 1 and
 * round 12345678901234567890.
 */
function parseJson(text: string, where: string): unknown {
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

async function readNamed(path: string, before: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new WritError("INVALID_ARGUMENT", `${before}${path}: the file cannot be read (${codeOf(error)})`);
  }
}

async function readStdin(context: Input, flag: string): Promise<string> {
  // The hub accepts no larger job.
  const bytes = await collectStdin(context, bodyBytes.ordinary);
  if (bytes === null) throw new WritError("TOO_LARGE", `${flag} -: more than ${bodyBytes.ordinary} bytes`);
  return bytes.toString("utf8");
}
