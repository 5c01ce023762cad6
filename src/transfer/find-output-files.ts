import { type FileHandle, opendir } from "node:fs/promises";
import { z } from "zod";
import { hasCode } from "../core/errors.ts";
import { openBeneath, pathOf } from "../runtime/files/open-beneath.ts";
import { PathRefused } from "../runtime/files/path-refused.ts";
import { matchPattern } from "./match-pattern.ts";

/** A file below a job's output directory, and the key under which it is to be kept. Neither is checked. */
export type WantedFile = { path: string; objectKey: string };

/** Why something that a job wanted to be kept is not. `leadsOut`: it may be an attempt to reach other files. */
export type FileProblem = { message: string; leadsOut: boolean };

type WantedFiles = { files: WantedFile[]; problems: FileProblem[] };

export const manifestName = "__manifest__.json";

/** The receipt lists every file, and has at most 1 MiB. */
const filesMax = 1000;
const keyCharsMaxInAll = 256 * 1024;
const manifestBytesMax = 1024 ** 2;
/** Of what a job has left, so much is looked at. */
const entriesMax = 20_000;

const manifestShape = z.object({
  files: z.array(z.object({ local_path: z.string(), object_key: z.string() })),
});

/**
 * The files that a job wants to be kept: those that fit one of the patterns, or else those that its manifest lists. `base`
 * is its output directory. Never rejects because of what a job has put there. Why: ADR 0042.
 */
export async function findOutputFiles(
  base: FileHandle,
  collect: readonly string[] | undefined,
): Promise<WantedFiles> {
  const found = collect === undefined ? await readManifest(base) : await walk(base, collect);
  const { files, problems } = withoutRepeats(found);
  const chars = files.reduce((sum, { objectKey }) => sum + objectKey.length, 0);
  if (files.length <= filesMax && chars <= keyCharsMaxInAll) return { files, problems };
  const message =
    files.length > filesMax
      ? `a job can keep at most ${filesMax} files, not ${files.length}; pack them into an archive`
      : `the keys of all files have more than ${keyCharsMaxInAll} characters`;
  return { files: [], problems: [...problems, harmless(message)] };
}

async function readManifest(base: FileHandle): Promise<WantedFiles> {
  let text: string | null;
  try {
    text = await readText(base);
  } catch (error) {
    // A job that lists nothing keeps nothing.
    if (error instanceof PathRefused && error.refusal === "missing") return { files: [], problems: [] };
    if (error instanceof PathRefused) return invalid(`the manifest cannot be used: ${error.message}`);
    throw error;
  }
  if (text === null) return invalid(`${manifestName} is larger than ${manifestBytesMax} bytes`);
  const manifest = parseManifest(text);
  if (manifest === null)
    return invalid(
      `${manifestName} must be JSON like {"files":[{"local_path":"a.txt","object_key":"a.txt"}]}`,
    );
  const files = manifest.files.map((file) => ({ path: file.local_path, objectKey: file.object_key }));
  return { files, problems: [] };
}

/** Null if it is too large; its size may change while it is read. */
async function readText(base: FileHandle): Promise<string | null> {
  const file = await openBeneath(base, manifestName);
  try {
    const buffer = Buffer.alloc(manifestBytesMax + 1);
    let length = 0;
    for (let bytesRead = -1; bytesRead !== 0 && length < buffer.length; length += bytesRead) {
      ({ bytesRead } = await file.read(buffer, length, buffer.length - length, length));
    }
    return length > manifestBytesMax ? null : buffer.toString("utf8", 0, length);
  } finally {
    await file.close();
  }
}

function parseManifest(text: string): z.infer<typeof manifestShape> | null {
  try {
    return manifestShape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // The caller refuses a manifest that is not JSON, like one of the wrong shape.
    return null;
  }
}

/** Everything below the directory that fits a pattern. Links and special files are left out, and no link is followed. */
async function walk(base: FileHandle, patterns: readonly string[]): Promise<WantedFiles> {
  const files: WantedFile[] = [];
  const problems: FileProblem[] = [];
  const dirs = [""];
  let entries = 0;
  for (let dir = dirs.pop(); dir !== undefined; dir = dirs.pop()) {
    try {
      for await (const { name, kind } of entriesOf(base, dir)) {
        if (++entries > entriesMax)
          return invalid(
            `the output directory has more than ${entriesMax} entries; pack them into an archive`,
          );
        const path = dir === "" ? name : `${dir}/${name}`;
        if (kind === "directory") dirs.push(path);
        const isWanted = kind === "file" && patterns.some((pattern) => matchPattern(path, pattern));
        if (isWanted && path !== manifestName) files.push({ path, objectKey: path });
      }
    } catch (error) {
      if (!(error instanceof PathRefused)) throw error;
      // One that was removed or replaced since it was seen is simply not there any more.
      if (error.refusal !== "missing" && error.refusal !== "link") problems.push(harmless(error.message));
    }
  }
  files.sort((left, right) => (left.path < right.path ? -1 : 1));
  return { files, problems };
}

async function* entriesOf(
  base: FileHandle,
  dir: string,
): AsyncGenerator<{ name: string; kind: "file" | "directory" | "other" }> {
  const handle = dir === "" ? base : await openBeneath(base, dir, "directory");
  try {
    for await (const entry of await opendir(pathOf(handle))) {
      yield { name: entry.name, kind: entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other" };
    }
  } catch (error) {
    if (!hasCode(error, "EACCES", "EPERM")) throw error;
    throw new PathRefused("other-kind", `${quoted(dir)} may not be read`);
  } finally {
    if (handle !== base) await handle.close();
  }
}

/** Two files under one key would replace each other; the first one counts. */
function withoutRepeats({ files, problems }: WantedFiles): WantedFiles {
  const firsts = new Map<string, WantedFile>();
  const repeated: FileProblem[] = [];
  for (const file of files) {
    if (!firsts.has(file.objectKey)) firsts.set(file.objectKey, file);
    else repeated.push(harmless(`the manifest lists ${quoted(file.objectKey)} twice`));
  }
  return { files: [...firsts.values()], problems: [...problems, ...repeated] };
}

function invalid(message: string): WantedFiles {
  return { files: [], problems: [harmless(message)] };
}

function harmless(message: string): FileProblem {
  return { message, leadsOut: false };
}

export function quoted(text: string): string {
  return JSON.stringify(text.length <= 200 ? text : `${text.slice(0, 200)}…`);
}
