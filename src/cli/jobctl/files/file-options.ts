import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import type { Files, JobInputFile } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { collect } from "../../program.ts";
import { ProgressBar } from "../../terminal/progress-bar.ts";

export type FileFlags = { input?: string[]; collect?: string[]; output?: string };

/** Files in and out. Whether the command waits for the job, and so can save its files, is up to the command. */
export function addFileOptions(command: Command): Command {
  return command
    .option(
      "--input <file>",
      "a file that the job finds in inputs/, under its name or as PATH=FILE says; may be repeated",
      collect,
    )
    .option(
      "--collect <pattern>",
      "keep files of the job's output directory that fit, such as '**/*.png'; may be repeated",
      collect,
    );
}

export function addOutputOption(command: Command): Command {
  return command.option(
    "--output <dir>",
    "save the files of the job's output directory here when it has ended (default: all, or what --collect says)",
  );
}

/** The patterns of the files to keep; undefined if there are none. */
export function collectedBy({ collect: patterns, output }: FileFlags): string[] | undefined {
  return patterns ?? (output === undefined ? undefined : ["**"]);
}

/** Uploads the files of --input, with a progress bar on a terminal. */
export async function uploadInputs(
  context: CliContext,
  files: Files,
  { input: given = [] }: FileFlags,
): Promise<JobInputFile[] | undefined> {
  const inputs: JobInputFile[] = [];
  for (const text of given) {
    const { file, path, size } = await findInput(context, text);
    const [hashing, sending] = ["checking", "uploading"].map(
      (what) => new ProgressBar(context, { what: `${what} ${path}`, total: size }),
    ) as [ProgressBar, ProgressBar];
    const onHash = (bytes: number): void => hashing.show(bytes);
    const onProgress = (bytes: number): void => sending.show(bytes);
    try {
      inputs.push(await files.input(file, { path, signal: context.stops.requested, onHash, onProgress }));
    } finally {
      hashing.end();
      sending.end();
    }
  }
  return inputs.length === 0 ? undefined : inputs;
}

/** FILE alone, or PATH=FILE. A file whose own name contains an equals sign is found first. */
async function findInput(
  { cwd }: CliContext,
  text: string,
): Promise<{ file: string; path: string; size: number }> {
  const whole = resolve(cwd, text);
  const wholeSize = await sizeOf(whole);
  if (wholeSize !== undefined) return { file: whole, path: basename(whole), size: wholeSize };
  const equals = text.indexOf("=");
  const file = resolve(cwd, text.slice(equals + 1));
  const size = equals < 1 ? undefined : await sizeOf(file);
  if (size !== undefined) return { file, path: text.slice(0, equals), size };
  throw new WritError("NOT_FOUND", `--input ${JSON.stringify(text)}: there is no such file`, {
    advice: "give FILE, or PATH=FILE to choose its path below inputs/",
  });
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
