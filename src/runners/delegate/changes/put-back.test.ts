import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { openInPlace, openLive } from "../repository/open-workspace.ts";
import { readTree } from "../repository/read-tree.ts";
import { findChanges } from "./find-changes.ts";
import { moveWorkIn } from "./move-in.ts";
import { putBackLater, undoWork } from "./put-back.ts";
import { keepUndo, readUndo } from "./undo-record.ts";

/** A repository in which an agent has begun to work, of which a killed worker has left this record. */
async function begun({ open = openInPlace, before = () => {} }: Begin = {}) {
  const dir = mkdtempSync(join(tmpdir(), "writ-put-back-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [root, attemptDir] = [join(dir, "repo"), join(dir, "attempt")];
  for (const made of [join(root, "src"), attemptDir]) mkdirSync(made, { recursive: true });
  const file = (name: string): string => join(root, "src", name);
  for (const name of ["agents", "both", "gone", "lost"]) writeFileSync(file(name), `${name} before\n`);
  before(file);
  const { uid, gid } = statSync(root);
  const allowed = [{ path: "src", found: { isFile: false, owner: { uid, gid } } }];
  const workspace = await open(
    { root, owner: { uid, gid }, allowed, hidden: [] },
    { attemptDir, hasJail: false, isCaged: true, isMapped: false, isRoot: false, maxFileBytes: 1000 },
  );
  const kept = await keepUndo(systemClock, attemptDir, workspace);
  onTestFinished(() => kept.forget());
  const found = await readUndo(attemptDir);
  const readBack = (name: string): string => readFileSync(file(name), "utf8");
  return { undo: found!.undo, workspace, attemptDir, file, readBack };
}

type Begin = { open?: typeof openInPlace; before?: (file: (name: string) => string) => void };

/** Another repository inside of what the agent may change. */
function nested(file: (name: string) => string): void {
  mkdirSync(file("nested/.git/objects"), { recursive: true });
  writeFileSync(file("nested/.git/objects/precious"), "history\n");
  writeFileSync(file("nested/text"), "text\n");
}

test("changes after the agent's end stay, and the rest is put back", async () => {
  const { undo, attemptDir, file, readBack } = await begun();
  for (const name of ["agents", "lost", "new"]) writeFileSync(file(name), "agent\n");
  rmSync(file("gone"));
  mkdirSync(file("folder"));
  mkdirSync(file("shared"));
  writeFileSync(join(attemptDir, "before/src/lost"), "half of a co");
  // The clock of a file system moves in steps.
  const untilMs = statSync(file("new")).ctimeMs;
  while (Date.now() <= untilMs + 20);
  for (const name of ["both", "shared/person"]) writeFileSync(file(name), "person\n");

  const left = await putBackLater(undo, untilMs);
  expect(left.sort()).toEqual(["src/both", "src/lost", "src/shared", "src/shared/person"]);
  expect([readBack("agents"), readBack("gone")]).toEqual(["agents before\n", "gone before\n"]);
  expect([readBack("both"), readBack("shared/person")]).toEqual(["person\n", "person\n"]);
  // Better the agent's file than half of the old one.
  expect(readBack("lost")).toBe("agent\n");
  for (const name of ["new", "folder"]) expect(() => statSync(file(name))).toThrow("ENOENT");
});

test("O-04: a repository that an agent has moved is moved back with its history", async () => {
  const { undo, file, readBack } = await begun({ before: nested });
  renameSync(file("nested"), file("moved"));
  writeFileSync(file("nested"), "in its place\n");
  expect(await undoWork(undo)).toEqual([]);
  expect(readBack("nested/.git/objects/precious")).toBe("history\n");
  expect(readBack("nested/text")).toBe("text\n");
  expect(readdirSync(file("."))).not.toContain("moved");
});

test("O-04: a new repository is not removed, only hidden from git, and named", async () => {
  const { undo, file, readBack } = await begun();
  nested(file);
  const left = await undoWork(undo);
  const aside = readdirSync(file("nested"));
  expect(aside).toEqual([expect.stringMatching(/^\.git-set-aside-[0-9a-f]{8}$/)]);
  expect(left.sort()).toEqual(["src/nested", `src/nested/${aside[0]}`]);
  expect(readBack(`nested/${aside[0]}/objects/precious`)).toBe("history\n");
});

test("O-04: a file that is too large for a copy is moved back, even if it was copied and deleted", async () => {
  const large = ["one", "two"].map((name) => [name, name.repeat(1000)] as const);
  const { undo, file, readBack } = await begun({
    before: (at) => {
      for (const [name, text] of large) writeFileSync(at(name), text);
    },
  });
  mkdirSync(file("new"));
  renameSync(file("one"), file("new/one"));
  writeFileSync(file("new/two"), readBack("two"));
  writeFileSync(file("two"), "nothing of it is left here\n");
  expect(await undoWork(undo)).toEqual([]);
  for (const [name, text] of large) expect(readBack(name)).toBe(text);
  expect(readdirSync(file("."))).not.toContain("new");
});

test("O-04: a file in the way of putting back stays and is named", async () => {
  const { undo, file } = await begun({ before: (at) => mkdirSync(at("empty")) });
  rmSync(file("empty"), { recursive: true });
  mkdirSync(file("socket"));
  execFileSync("mkfifo", [file("socket/pipe")]);
  expect(await undoWork(undo)).toEqual(["src/socket"]);
  expect(statSync(file("empty")).isDirectory()).toBe(true);
});

const linkedFile = (at: (name: string) => string): void => linkSync(at("both"), at("../outside"));

test("O-04: an agent does not write into a file that has a second name elsewhere; the name is replaced", async () => {
  const { workspace, attemptDir, file, readBack } = await begun({ before: linkedFile });
  const copy = (name: string): string => join(workspace.dir, "src", name);
  writeFileSync(copy("both"), "agent\n");
  writeFileSync(copy("new"), "agent\n");
  rmSync(copy("gone"));
  expect(readBack("both")).toBe("both before\n");
  const outcome = { kind: "succeeded", resultJson: "{}", exitCode: 0 } as const;
  const move = () => moveWorkIn({ clock: systemClock }, { attemptDir }, { workspace, outcome });

  writeFileSync(file("new"), "somebody else\n");
  const why = expect.stringMatching(/changed these files meanwhile.*: src\/new$/);
  expect(await move()).toMatchObject({ kind: "failed", code: "EXECUTION_ERROR", reason: why });
  expect(readBack("both")).toBe("both before\n");
  rmSync(file("new"));
  expect(await move()).toEqual(outcome);
  expect([readBack("both"), readBack("new"), readBack("../outside")]).toEqual([
    "agent\n",
    "agent\n",
    "both before\n",
  ]);
  expect(() => statSync(file("gone"))).toThrow("ENOENT");
});

test("O-04: a file that was written through a second name outside the cage is put back under both names", async () => {
  const { undo, file, readBack } = await begun({ open: openLive, before: linkedFile });
  writeFileSync(file("both"), "agent\n");
  expect(readBack("../outside")).toBe("agent\n");
  const changes = findChanges(undo.before, await readTree(undo.dir, undo.look), undo.allowed);
  expect(changes.offences).toEqual(['"src/both" has a second name elsewhere, and was changed there too']);
  expect(await undoWork(undo)).toEqual([]);
  expect([readBack("both"), readBack("../outside")]).toEqual(["both before\n", "both before\n"]);
});
