import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { showName } from "../../terminal/terminal.ts";
import { askGit, runGit } from "./run-git.ts";

type Patched = {
  /** The commit, or tree, that the diff is applied to. */
  base: string;
  patch: Buffer;
  /** From the top of the tree; empty for the top. */
  directory: string;
  /** Whether the new objects stay in the repository. */
  isKept: boolean;
};

/**
 * The tree that a commit and a diff make, without a look at the files or the index of the repository. Throws if the diff does
 * not fit the commit. Replacements of objects do not count: anybody who writes to the repository can make them.
 */
export async function patchedTree(
  context: CliContext,
  top: string,
  { base, patch, directory, isKept }: Patched,
): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "jobctl-tree-"));
  try {
    const objects = join(dir, "objects");
    await mkdir(objects);
    const kept = await askGit(context, top, ["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
    const env = {
      ...asWritten,
      GIT_INDEX_FILE: join(dir, "index"),
      ...(isKept ? {} : { GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: kept }),
    };
    await askGit(context, top, ["read-tree", base], { env });
    const below = directory === "" ? [] : [`--directory=${directory}`];
    // Settings of the user must not let a diff fit where it does not.
    const exact = ["-c", "apply.ignoreWhitespace=no"];
    const args = [...exact, "apply", "--cached", "--whitespace=nowarn", ...below, "-"];
    const { code, stderr } = await runGit(context, top, args, { env, input: patch });
    if (code !== 0) {
      const [line = ""] = stderr.trim().split("\n");
      const why = showName(line.replace(/^error: /, ""));
      throw new WritError("STATE_CONFLICT", `the diff does not fit the commit ${base.slice(0, 12)}: ${why}`);
    }
    return await askGit(context, top, ["write-tree"], { env });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** For reading what a commit really says. */
export const asWritten = { GIT_NO_REPLACE_OBJECTS: "1" } as const;
