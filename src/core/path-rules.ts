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

/** Why this cannot be the directory that a job starts in, absolute or below its own folder; null if it can. */
export function workingDirProblem(path: string): string | null {
  const problem = textProblem(path);
  if (problem !== null) return problem;
  if (path.startsWith("~")) return "must not start with ~: a job has no home directory";
  return components(path).includes("..") ? "must not contain .." : null;
}

/**
 * Why a job may not be allowed to change this path of a repository; null if it may be. git's own folder is never
 * changed, and a path that only a careless decoder would read as `..` is refused before a decoder reads it.
 */
export function changeablePathProblem(path: string): string | null {
  const problem = relativePathProblem(path);
  if (problem !== null) return problem;
  if (/\p{Cc}/u.test(path)) return "must not contain control characters";
  if (relativePathProblem(decoded(path)) !== null) return "must not contain an encoded .. or /";
  return isGitPath(path) ? "must not be inside .git" : null;
}

/**
 * Whether a path that was refused tried to reach what is outside its root, in any way that a careless reader might decode: it
 * goes up, begins at the root or at a home directory, or ends early at a NUL. `absolute` is for a path that must begin at the
 * root.
 */
export function reachesOutside(path: string, { absolute = false } = {}): boolean {
  const read = decoded(path).replaceAll("\\", "/");
  if (read.includes("\0") || read.startsWith("~") || components(read).includes("..")) return true;
  return !absolute && read.startsWith("/");
}

/** Whether the path is, or is inside, a directory that git keeps for itself; some disks do not tell case apart. */
export function isGitPath(path: string): boolean {
  return components(path).some((name) => name.toLowerCase() === ".git");
}

/** Whether a path is a directory or inside it, compared by component: `src-evil` is not in `src`. Neither may contain `..`. */
export function isPathIn(path: string, dir: string): boolean {
  if (path.startsWith("/") !== dir.startsWith("/")) return false;
  const names = components(path);
  return components(dir).every((name, index) => names[index] === name);
}

/** The one spelling of a path without `..`. */
export function plainPath(path: string): string {
  return `${path.startsWith("/") ? "/" : ""}${components(path).join("/")}`;
}

function decoded(path: string): string {
  return path.replace(/%(2e|2f|5c)/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
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
