import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { type Logger, silentLogger } from "../../src/runtime/log/logger.ts";
import { DiscardFolder } from "../../src/sandbox/discard-folder.ts";
import { emptyDirectory } from "../../src/sandbox/empty-directory.ts";
import { eventually } from "../support/eventually.ts";
import { cageTest, rootTest } from "./cage-stage.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-removal-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

cageTest("A2: a tree that is deeper than any path is removed", async () => {
  layDeepTree(dir, 60);
  expect(await emptyDirectory(dir)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

cageTest("A2: names of any bytes, modes and attributes are not in the way", async () => {
  const tree = join(dir, "tree");
  mkdirSync(join(tree, "closed"), { recursive: true });
  for (const name of [Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from("-rf"), Buffer.from("a\u001b[2J b")])
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), name]), "x");
  writeFileSync(join(tree, "closed/file"), "x");
  chmodSync(join(tree, "closed"), 0);
  execFileSync("mkfifo", [join(tree, "fifo")]);
  mkdirSync(join(tree, "kept"));
  writeFileSync(join(tree, "kept/immutable"), "x");
  makeImmutable(join(tree, "kept/immutable"), join(tree, "kept"));
  expect(await emptyDirectory(dir)).toEqual([]);
});

cageTest("A2: a folder that its job has closed to everybody is moved away and removed", async () => {
  const folder = join(dir, "folders/job.1");
  mkdirSync(join(folder, "inner"), { recursive: true });
  chmodSync(folder, 0);
  const discards = await DiscardFolder.open({ clock: systemClock, logger: silentLogger }, dir);
  await discards.discard(folder, "job.1");
  expect(existsSync(folder)).toBe(false);
  await eventually("it is removed", () => readdirSync(join(dir, "discarded")).length === 0);
  await discards.close();
});

cageTest("A2: what a link points to stays, whatever the link is called", async () => {
  const outside = mkdtempSync(join(tmpdir(), "writ-outside-"));
  writeFileSync(join(outside, "file"), "content");
  mkdirSync(join(dir, "tree/sub"), { recursive: true });
  symlinkSync(outside, join(dir, "tree/sub/link"));
  symlinkSync(outside, join(dir, "link"));
  linkSync(join(outside, "file"), join(dir, "tree/hard"));
  expect(await emptyDirectory(dir)).toEqual([]);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("content");
  rmSync(outside, { recursive: true });
});

rootTest(
  "A2: what cannot be removed is moved aside, reported, and tried again at the next start",
  async () => {
    const errors: object[] = [];
    const logger = { ...silentLogger, error: (facts: object) => errors.push(facts) } as unknown as Logger;
    const first = await DiscardFolder.open({ clock: systemClock, logger }, dir);
    const tree = join(dir, "jobs/job/1");
    mkdirSync(join(tree, "work/mounted"), { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "writ-test", join(tree, "work/mounted")]);
    writeFileSync(join(tree, "work/mounted/file"), "belongs to somebody else");
    await first.discard(tree, "job.1");
    expect(existsSync(tree)).toBe(false);
    await eventually("the failure is reported", () => errors.length > 0);
    await first.close();

    const [left] = readdirSync(join(dir, "unremovable"));
    const mounted = join(dir, "unremovable", left!, "mounted");
    expect(left).toMatch(/^job\.1-/);
    expect(errors).toEqual([{ dir: join(dir, "unremovable", left!), code: "EBUSY" }]);
    expect(readFileSync(join(mounted, "file"), "utf8")).toBe("belongs to somebody else");

    execFileSync("umount", [mounted]);
    const second = await DiscardFolder.open({ clock: systemClock, logger }, dir);
    await eventually("all is removed", () => readdirSync(join(dir, "discarded")).length === 0);
    await second.close();
    expect(readdirSync(join(dir, "unremovable"))).toEqual([]);
  },
);

cageTest("A2: without a launcher trees are removed by path, and what is too deep is left", async () => {
  mkdirSync(join(dir, "flat/sub"), { recursive: true });
  mkdirSync(join(dir, "deep"));
  layDeepTree(join(dir, "deep"), 60);
  const launcherFile = join(dir, "no-such-launcher");
  expect(await emptyDirectory(dir, { launcherFile })).toEqual([{ name: "deep", code: "ENAMETOOLONG" }]);
  expect(await emptyDirectory(dir)).toEqual([]);
});

/** Made from its end, because no path reaches its bottom. */
function layDeepTree(parent: string, levels: number): void {
  const name = "d".repeat(200);
  const segment = 10;
  for (let made = 0; made < levels; made += segment) {
    const top = join(parent, "next");
    const bottom = join(top, ...Array<string>(segment - 1).fill(name));
    mkdirSync(bottom, { recursive: true });
    if (existsSync(join(parent, name))) renameSync(join(parent, name), join(bottom, name));
    renameSync(top, join(parent, name));
  }
}

/** Where the file system has such attributes. */
function makeImmutable(...paths: string[]): void {
  for (const path of paths) {
    try {
      execFileSync("chattr", ["+i", path], { stdio: "ignore" });
    } catch {
      // tmpfs and others have none.
    }
  }
}
