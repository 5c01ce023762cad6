import { z } from "zod";
import { folderId, objectKey, pathText, relativePath, sha256Digits } from "./fields.ts";

/** The shapes of files that a job reads and of those that are kept of it. */

const inputsMax = 256;
const inputPathCharsMax = 512;
const patternsMax = 64;

/** An object in storage, with the bytes that it must have. */
export const storedFile = z.strictObject({
  folder_id: folderId,
  object_key: objectKey,
  sha256: sha256Digits,
});

/** One spelling for each path: two that differ only in their text would be one file. */
export const inputPath = relativePath
  .refine((path) => path.length <= inputPathCharsMax, `must have at most ${inputPathCharsMax} characters`)
  .refine(
    (path) => !path.split("/").some((name) => name === "" || name === "."),
    "must be written without . and // and without / at its end",
  )
  .refine((path) => !path.split("/").some((name) => name.length > 255), "has a name of over 255 characters");

/** Files that are fetched before the job starts, each with its path below `inputs/`. */
export const inputs = z
  .array(storedFile.extend({ path: inputPath }))
  .min(1, "must name a file; leave it out instead")
  .max(inputsMax, `must have at most ${inputsMax} files`)
  .superRefine((files, context) => {
    const paths = new Set(files.map(({ path }) => path));
    for (const [index, { path }] of files.entries()) {
      const message =
        files.findIndex((other) => other.path === path) < index
          ? `lists ${path} twice`
          : placeProblem(path, paths);
      if (message !== null) context.addIssue({ code: "custom", path: [index, "path"], message });
    }
  });

/** Patterns of files below JOB_OUTPUT_DIR that are kept when the job has ended. */
export const collect = z
  .array(pathText(patternProblem).min(1).max(512))
  .min(1, "must name a pattern, such as **; leave it out instead")
  .max(patternsMax, `must have at most ${patternsMax} patterns`);

function patternProblem(pattern: string): string | null {
  if (pattern.includes("\0")) return "must not contain a NUL";
  const isBelow = !pattern.startsWith("/") && !pattern.split("/").includes("..");
  return isBelow ? null : "must be relative to the job's output directory, without ..";
}

/** A file cannot stand where a directory of another file has to be. */
function placeProblem(path: string, paths: ReadonlySet<string>): string | null {
  const names = path.split("/");
  const above = names.map((_, index) => names.slice(0, index).join("/")).find((dir) => paths.has(dir));
  return above === undefined ? null : `${above} is a file and cannot contain ${path}`;
}
