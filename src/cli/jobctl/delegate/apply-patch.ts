import { createHash } from "node:crypto";
import { lstat, readFile, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { hasCode, WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { showName } from "../../terminal/terminal.ts";
import type { ChangedFile } from "./delegate-result.ts";
import { runGit } from "./run-git.ts";

/** Where a diff is applied: `dir`, which is the top of a working tree of git, a folder in one, or no part of any. */
export type Tree = { dir: string; top: string };

export type AppliedFile = ChangedFile & {
  /** `same`: as the agent left it. `merged`: it had been changed here too, and has both changes now. */
  state: "same" | "merged";
};

export async function findTree(context: CliContext, dir: string): Promise<Tree> {
  // The next line refuses what cannot be resolved.
  const real = await realpath(dir).catch(() => undefined);
  if (real === undefined || !(await lstat(real)).isDirectory())
    throw new WritError("INVALID_ARGUMENT", `--repo: there is no directory ${dir}`);
  const { code, stdout } = await runGit(context, real, ["rev-parse", "--show-toplevel"]);
  return { dir: real, top: code === 0 ? stdout.trimEnd() : real };
}

/** Throws if the diff does not fit the files as they are; changes nothing. */
export async function checkPatch(context: CliContext, tree: Tree, patch: Buffer): Promise<void> {
  const { code, stderr } = await gitApply(context, tree, { flags: ["--check"], patch });
  if (code !== 0) throw doesNotFit(tree, stderr);
}

/** Applies all of it, or nothing: git checks every file before it writes the first one. */
export async function applyPatch(
  context: CliContext,
  tree: Tree,
  { patch, changed }: { patch: Buffer; changed: readonly ChangedFile[] },
): Promise<AppliedFile[]> {
  const before = new Map(
    await Promise.all(changed.map(async ({ path }) => [path, await hashIn(tree, path)] as const)),
  );
  const { code, stderr } = await gitApply(context, tree, { flags: [], patch });
  if (code !== 0) throw doesNotFit(tree, stderr);
  const applied: AppliedFile[] = [];
  for (const file of changed) {
    const now = await hashIn(tree, file.path);
    const isSame =
      file.change === "deleted" ? now === undefined : file.sha256 === undefined || now === file.sha256;
    // git leaves out paths that it takes to be outside the directory, and says nothing.
    if (!isSame && now === before.get(file.path))
      throw new WritError(
        "INTERNAL",
        `git has left ${showName(file.path)} as it was; look at the repository before you go on`,
      );
    applied.push({ ...file, state: isSame ? "same" : "merged" });
  }
  return applied;
}

function doesNotFit({ dir }: Tree, stderr: string): WritError {
  const lines = stderr.trim().split("\n").slice(0, 20);
  const list = lines.map((line) => `\n  ${showName(line.replace(/^error: /, ""))}`).join("");
  return new WritError(
    "STATE_CONFLICT",
    `the diff does not fit the files in ${showName(dir)}, and nothing was changed`,
    {
      advice:
        "give the agent the same job again, or apply it by hand with `jobctl diff ID | git apply --3way`:",
      list,
    },
  );
}

async function hashIn({ dir }: Tree, path: string): Promise<string | undefined> {
  const file = join(dir, path);
  try {
    if (!(await lstat(file)).isFile()) return "not a plain file";
    return createHash("sha256")
      .update(await readFile(file))
      .digest("hex");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** From the top of the tree, because below it git ignores what is outside the current directory. */
function gitApply(
  context: CliContext,
  { dir, top }: Tree,
  { flags, patch }: { flags: string[]; patch: Buffer },
): Promise<{ code: number; stderr: string }> {
  const below = relative(top, dir);
  const where = below === "" ? [] : [`--directory=${below}`];
  // Whitespace stays as it is, whatever the user's configuration fixes elsewhere.
  return runGit(context, top, ["apply", "--whitespace=nowarn", ...where, ...flags, "-"], { input: patch });
}
