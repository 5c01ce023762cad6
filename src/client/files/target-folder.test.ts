import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTargetFolder, type TargetFolder } from "./target-folder.ts";

/** The way of other systems runs on Linux too. */
describe.each(["linux", "darwin", "win32"] as const)("on %s", (platform) => {
  let root: string;
  let folder: TargetFolder;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "writ-target-"));
    folder = await openTargetFolder(join(root, "inside"), platform);
  });
  afterEach(async () => {
    await folder.close();
    rmSync(root, { recursive: true, force: true });
  });

  test.each(["/etc/passwd", "../outside", "a/../../outside", "", "a/", "."])(
    "%j is refused",
    async (path) => {
      await expect(folder.create(path)).rejects.toMatchObject({ name: "PathRefused" });
      expect(readdirSync(root)).toEqual(["inside"]);
    },
  );

  test("nothing is written through a link", async () => {
    mkdirSync(join(root, "outside"));
    symlinkSync(join(root, "outside"), join(root, "inside/link"));
    await expect(folder.create("link/file")).rejects.toMatchObject({ name: "PathRefused", refusal: "link" });
    expect(readdirSync(join(root, "outside"))).toEqual([]);
  });

  test("a file appears whole or not at all", async () => {
    const created = await folder.create("a/b/file.txt");
    await created.handle.writeFile("hello");
    expect(existsSync(join(root, "inside/a/b/file.txt"))).toBe(false);
    await created.keep();
    await created.discard();
    expect(readFileSync(join(root, "inside/a/b/file.txt"), "utf8")).toBe("hello");
    await (await folder.create("a/b/other")).discard();
    expect(readdirSync(join(root, "inside/a/b"))).toEqual(["file.txt"]);
  });

  test("a link with the name of the file is replaced, and what it led to stays", async () => {
    writeFileSync(join(root, "secret"), "old");
    symlinkSync(join(root, "secret"), join(root, "inside/file"));
    const created = await folder.create("file");
    await created.handle.writeFile("new");
    await created.keep();
    await created.discard();
    expect(readFileSync(join(root, "secret"), "utf8")).toBe("old");
    expect(readFileSync(join(root, "inside/file"), "utf8")).toBe("new");
  });
});

test("a backslash or a drive is refused where it means another place", async () => {
  const root = mkdtempSync(join(tmpdir(), "writ-target-"));
  const folder = await openTargetFolder(root, "win32");
  for (const path of ["..\\outside", "C:\\outside", "C:outside"])
    await expect(folder.create(path)).rejects.toMatchObject({ refusal: "outside" });
  rmSync(root, { recursive: true, force: true });
});
