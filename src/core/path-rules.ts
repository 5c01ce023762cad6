/**
 * The rules for paths that come from outside, checked by component and without touching a disk. Opening a file is
 * different: that uses a directory handle, so that a link that is swapped in later has no effect.
 */

const pathBytesMax = 4096;
const componentsMax = 256;

/** Why this is not a relative path that stays below its root; null if it is one. */
export function relativePathProblem(path: string): string | null {
  const problem = textProblem(path);
  if (problem !== null) return problem;
  if (path.startsWith("/")) return "must be relative";
  if (path.startsWith("~")) return "must not start with ~";
  if (path.includes("\\")) return "must not contain a backslash";
  const parts = components(path);
  if (parts.length === 0) return "must name a file or folder";
  return parts.includes("..") ? "must not contain .." : null;
}

/** Why this is not an absolute path; null if it is one. */
export function absolutePathProblem(path: string): string | null {
  const problem = textProblem(path);
  if (problem !== null) return problem;
  if (!path.startsWith("/")) return "must be absolute";
  return components(path).includes("..") ? "must not contain .." : null;
}

function textProblem(path: string): string | null {
  if (path === "") return "must not be empty";
  if (path.includes("\0")) return "must not contain a NUL";
  if (path.length >= pathBytesMax) return `must be shorter than ${pathBytesMax} characters`;
  return path.split("/").length > componentsMax ? `must have at most ${componentsMax} components` : null;
}

function components(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
