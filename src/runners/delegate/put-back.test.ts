import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/clock.ts";
import { openInPlace } from "./open-workspace.ts";
import { putBackLater } from "./put-back.ts";
import { keepUndo, readUndo } from "./undo-record.ts";

/** A repository in which an agent has begun to work, of which a killed worker has left this record. */
async function begun() {
  const dir = mkdtempSync(join(tmpdir(), "writ-put-back-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [root, attemptDir] = [join(dir, "repo"), join(dir, "attempt")];
  for (const made of [join(root, "src"), attemptDir]) mkdirSync(made, { recursive: true });
  const file = (name: string): string => join(root, "src", name);
  for (const name of ["agents", "both", "gone", "lost"]) writeFileSync(file(name), `${name} before\n`);
  const { uid, gid } = statSync(root);
  const allowed = [{ path: "src", found: { isFile: false, owner: { uid, gid } } }];
  const workspace = await openInPlace(
    { root, owner: { uid, gid }, allowed, hidden: [] },
    { attemptDir, hasJail: false, isCaged: true, isMapped: false, isRoot: false, maxFileBytes: 1000 },
  );
  const kept = await keepUndo(systemClock, attemptDir, workspace);
  onTestFinished(() => kept.forget());
  const found = await readUndo(attemptDir);
  const readBack = (name: string): string => readFileSync(file(name), "utf8");
  return { undo: found!.undo, attemptDir, file, readBack };
}

test("what changed after the agent's end is somebody else's and stays; the rest is put back", async () => {
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
