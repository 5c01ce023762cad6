import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import type { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { loadYamlFile, type YamlFile, type YamlPath } from "../../runtime/settings/yaml-file.ts";
import { type AgentsFile, agentsShape } from "./agents-shape.ts";
import { problemText } from "./problem-text.ts";
import { type FileProblem, referenceProblems, withFullPaths } from "./references.ts";

/**
 * Reads agents.yaml. It contains a token, so others must not be able to read it. Paths in it are relative to the file,
 * so that it can be copied together with the files that it names, and `~/` is the home of the user; the result has
 * absolute paths.
 */
export async function loadAgentsFile(path: string, userHome = homedir()): Promise<AgentsFile> {
  const file = await loadYamlFile(path, { mustBePrivate: true });
  const parsed = agentsShape.safeParse(file.data, { error: problemText });
  if (!parsed.success) throw refusal(file, parsed.error.issues.flatMap(problemsOf));
  const data = withFullPaths(parsed.data, (named) => fullPath(path, userHome, named));
  const problems = await referenceProblems(data);
  if (problems.length > 0) throw refusal(file, problems);
  return data;
}

export function fullPath(configFile: string, userHome: string, named: string): string {
  if (named === "~" || named.startsWith("~/")) return resolve(userHome, `.${named.slice(1)}`);
  return resolve(dirname(configFile), named);
}

function problemsOf(issue: z.core.$ZodIssue): FileProblem[] {
  const path = issue.path as (string | number)[];
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, key], message: `is not a known key; ${issue.message}` }));
}

/** Makes the first problem the error, and lists the others below it. */
function refusal(file: YamlFile, problems: readonly FileProblem[]): WritError {
  const issues = problems
    .map(({ path, message }) => ({ key: path.join("."), line: lineNear(file, path), message }))
    .sort((a, b) => a.line - b.line);
  const sentences = issues.map(
    ({ key, line, message }) => `${file.path}:${line}: ${key === "" ? "the file" : key}: ${message}`,
  );
  const [first = "", ...others] = sentences;
  const list = others.map((sentence) => `\n  ${sentence}`).join("");
  return new WritError("CONFIG_INVALID", first, { key: issues[0]?.key, issues, ...(list && { list }) });
}

/** A missing key has no line, so the line of its section is used. */
function lineNear(file: YamlFile, path: YamlPath): number {
  for (let length = path.length; length > 0; length--) {
    const line = file.lineOf(path.slice(0, length));
    if (line !== undefined) return line;
  }
  return 1;
}
