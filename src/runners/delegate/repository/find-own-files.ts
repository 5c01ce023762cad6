import { constants, type Dirent, readdirSync } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isPathIn } from "../../../core/path-rules.ts";
import type { Look } from "./read-tree.ts";
import type { Workspace } from "./workspace.ts";

/** The most directories that are examined; the kernel still protects files that only their owner may read. */
const dirsMax = 20_000;
/** A file with a token and the settings around it is smaller. */
const tokenFileBytesMax = 64 * 1024;
const tokenInText = /\bsk_(admin|user|worker|viewer|cert)_[A-Za-z0-9_-]{24,}/;
/**
 * The tables of a database are described in its first pages. Every database of a hub since the first version has this
 * table.
 */
const schemaBytesMax = 1024 * 1024;
const databaseStart = "SQLite format 3\0";
const tableOfHub = "CREATE TABLE paused_types";
const logOfDatabase = /-(wal|shm|journal)$/;
const signingKeyName = /^signing-[0-9a-f]+\.pem$/;

/**
 * Finds the files of Writ itself in a repository, at any depth and by their content: homes of hubs and workers, folders
 * with keys, and in the allowed paths also databases and files with a token. The paths are relative to the root, and
 * none is inside another. Why: ADR 0097.
 */
export async function findOwnFiles(root: string, allowed: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  // The allowed paths come first, because there an agent also sees files that only their owner may read.
  const waiting = [...allowed, ""];
  const seen = new Set<string>();
  for (let dir = waiting.shift(); dir !== undefined && seen.size < dirsMax; dir = waiting.shift()) {
    if (seen.has(dir)) continue;
    seen.add(dir);
    // A directory that this worker cannot read is closed to the agent too.
    const entries = await readdir(join(root, dir), { withFileTypes: true }).catch(() => []);
    if (isOwnFolder(join(root, dir), entries.map(nameOf))) {
      found.push(dir);
      continue;
    }
    const at = (name: string): string => (dir === "" ? name : `${dir}/${name}`);
    const isChangeable = allowed.some((path) => isPathIn(dir, path));
    if (isChangeable) found.push(...(await ownFilesIn(root, dir, entries)).map(at));
    // The directories of git contain no homes, and are many.
    const below = entries.filter((entry) => entry.isDirectory() && entry.name !== ".git");
    waiting[isChangeable ? "unshift" : "push"](...below.map(({ name }) => at(name)));
  }
  return found;
}

/**
 * The same search in a repository after an agent's work: files of Writ that were renamed meanwhile are neither read nor
 * removed.
 */
export async function lookAgain({
  dir,
  look,
  allowed,
}: Pick<Workspace, "dir" | "look" | "allowed">): Promise<{
  look: Look;
  moved: string[];
}> {
  const moved = (await findOwnFiles(dir, allowed)).filter(
    (path) => !look.hidden.some((at) => isPathIn(path, at)),
  );
  return { look: { ...look, hidden: [...look.hidden, ...moved] }, moved };
}

/** The home or key folder that a path is, or is in; undefined if it is in none. */
export function ownFolderAbove(path: string): string | undefined {
  for (let dir = path; dir !== "/"; dir = dirname(dir)) if (isOwnFolder(dir, namesIn(dir))) return dir;
  return undefined;
}

function isOwnFolder(dir: string, names: readonly string[]): boolean {
  const has = (name: string): boolean => names.includes(name);
  const isKeyFolder = has("mac.key") || names.some((name) => signingKeyName.test(name));
  return (
    has("admin.token") ||
    has("worker.key") ||
    (has("work") && namesIn(join(dir, "worker")).includes("worker.key")) ||
    (has("ring.json") && isKeyFolder) ||
    (has("keys") && namesIn(join(dir, "keys")).includes("ring.json"))
  );
}

async function ownFilesIn(root: string, dir: string, entries: readonly Dirent[]): Promise<string[]> {
  const names = entries.filter((entry) => entry.isFile()).map(nameOf);
  const own = new Set<string>();
  for (const name of names) {
    const isNamed = name === "writ.sqlite" || names.includes(`${name}.hub.json`);
    if (isNamed || (await isPrivateAndOurs(join(root, dir, name)))) own.add(name);
  }
  return names.filter((name) => own.has(name) || own.has(name.replace(logOfDatabase, "")));
}

/** Only files that are closed to other users, as those of Writ are: a page or a test may show an example of a token. */
async function isPrivateAndOurs(path: string): Promise<boolean> {
  // Removed since the directory was listed.
  const status = await lstat(path).catch(() => null);
  if (status === null || (status.mode & 0o077) !== 0) return false;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  // A file that this worker cannot open is closed to the agent too.
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (file === null) return false;
  try {
    const start = await textAtStart(file, tokenFileBytesMax);
    if (!start.startsWith(databaseStart)) return status.size <= tokenFileBytesMax && tokenInText.test(start);
    return (await textAtStart(file, schemaBytesMax)).includes(tableOfHub);
  } finally {
    await file.close();
  }
}

async function textAtStart(file: FileHandle, bytesMax: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
  return buffer.toString("latin1", 0, bytesRead);
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    // A directory that does not exist has no names.
    return [];
  }
}

function nameOf({ name }: Dirent): string {
  return name;
}
