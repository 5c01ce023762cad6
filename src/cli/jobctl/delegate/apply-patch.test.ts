import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { applyPatch, checkPatch, findTree } from "./apply-patch.ts";

let dir: string;
let repo: string;
const never = new AbortController().signal;
const context = { env: process.env, stops: { requested: never, forced: never } } as unknown as CliContext;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-apply-"));
  repo = join(dir, "repo");
  mkdirSync(join(repo, "sub/src"), { recursive: true });
  writeFileSync(join(repo, "sub/src/a.txt"), lines("a"));
  writeFileSync(join(repo, "sub/src/b.txt"), lines("b"));
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function lines(name: string): string {
  return Array.from({ length: 20 }, (_line, at) => `${name} ${at}\n`).join("");
}

function git(...args: string[]): Buffer {
  return execFileSync("git", args, { cwd: repo });
}

/** A diff relative to `sub`, and the tree as it was before. */
function change(files: Record<string, string | Buffer>): Buffer {
  for (const [path, content] of Object.entries(files)) writeFileSync(join(repo, "sub", path), content);
  git("add", "-A");
  const patch = git("diff", "--cached", "--binary", "--relative=sub");
  git("reset", "-q", "--hard");
  return patch;
}

function changedTo(path: string, content: string | Buffer, kind: "added" | "modified" = "modified") {
  return { path, change: kind, sha256: createHash("sha256").update(content).digest("hex") };
}

const b2 = lines("b").replace("b 10\n", "b ten\n");

test("a diff that does not fit is refused with git's reasons, and nothing is half done", async () => {
  const patch = change({ "src/a.txt": lines("A"), "src/b.txt": b2 });
  writeFileSync(join(repo, "sub/src/a.txt"), "something else\n");
  const tree = await findTree(context, join(repo, "sub"));
  for (const act of [
    () => checkPatch(context, tree, patch),
    () => applyPatch(context, tree, { patch, changed: [] }),
  ]) {
    const error = (await act().then(
      () => undefined,
      (refused: unknown) => refused,
    )) as WritError;
    expect(error).toMatchObject({
      code: "STATE_CONFLICT",
      message: expect.stringContaining("nothing was changed"),
    });
    expect(error.details?.["list"]).toContain("sub/src/a.txt: patch does not apply");
  }
  expect(readFileSync(join(repo, "sub/src/b.txt"), "utf8")).toBe(lines("b"));
});

test.each([
  [
    "a path outside",
    "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
  ],
  [
    "git's own folder",
    "diff --git a/.git/x b/.git/x\nnew file mode 100644\n--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+x\n",
  ],
  [
    "a path through a link",
    "diff --git a/link/x b/link/x\nnew file mode 100644\n--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n",
  ],
])("a diff with %s is refused", async (_name, patch) => {
  mkdirSync(join(dir, "outside"));
  symlinkSync(join(dir, "outside"), join(repo, "link"));
  const tree = await findTree(context, repo);
  await expect(checkPatch(context, tree, Buffer.from(patch))).rejects.toMatchObject({
    code: "STATE_CONFLICT",
  });
  for (const path of ["../x", ".git/x", "../outside/x"]) expect(existsSync(join(repo, path))).toBe(false);
});

test("no such directory is refused", async () => {
  await expect(findTree(context, join(dir, "gone"))).rejects.toThrow("--repo: there is no directory");
});

test.each(["top", "folder", "no repository"])(
  "it is applied below the given directory: %s",
  async (where) => {
    const png = Buffer.from([0, 1, 2, 255]);
    const patch = change({ "src/b.txt": b2, "src/new.png": png });
    const place = where === "no repository" ? join(dir, "plain") : join(repo, "sub");
    if (where === "no repository") {
      mkdirSync(join(place, "src"), { recursive: true });
      writeFileSync(join(place, "src/b.txt"), lines("b"));
    }
    if (where === "top") execFileSync("git", ["init", "-q"], { cwd: place });
    const tree = await findTree(context, place);
    await checkPatch(context, tree, patch);
    const changed = [changedTo("src/b.txt", b2), changedTo("src/new.png", png, "added")];
    const files = await applyPatch(context, tree, { patch, changed });
    expect(files.map(({ path, state }) => [path, state])).toEqual([
      ["src/b.txt", "same"],
      ["src/new.png", "same"],
    ]);
    expect(readFileSync(join(place, "src/b.txt"), "utf8")).toBe(b2);
    expect(readFileSync(join(place, "src/new.png"))).toEqual(png);
    if (where === "folder") expect(git("diff", "--cached", "--name-only").toString()).toBe("");
  },
);

test("a file that was changed here too keeps both changes, and is named as such", async () => {
  const patch = change({ "src/b.txt": b2 });
  writeFileSync(join(repo, "sub/src/b.txt"), `mine\n${lines("b")}`);
  const tree = await findTree(context, join(repo, "sub"));
  const [file] = await applyPatch(context, tree, { patch, changed: [changedTo("src/b.txt", b2)] });
  expect(file?.state).toBe("merged");
  expect(readFileSync(join(repo, "sub/src/b.txt"), "utf8")).toBe(`mine\n${b2}`);
});

test("the environment of a hook does not lead it into another repository", async () => {
  const patch = change({ "src/b.txt": b2 });
  const around = {
    ...context,
    env: { ...process.env, GIT_DIR: "/nowhere", GIT_WORK_TREE: "/nowhere" },
  } as CliContext;
  const tree = await findTree(around, join(repo, "sub"));
  await applyPatch(around, tree, { patch, changed: [changedTo("src/b.txt", b2)] });
  expect(readFileSync(join(repo, "sub/src/b.txt"), "utf8")).toBe(b2);
});
