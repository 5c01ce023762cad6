import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diskOf, numbersOf } from "./disk-of.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-disk-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A /sys in which our own device is a partition of the disk 99:0. */
function makeSys(isPartition: boolean): string {
  const { major, minor } = numbersOf(statSync(dir).dev);
  const partition = join(dir, "devices/disk/part1");
  mkdirSync(partition, { recursive: true });
  mkdirSync(join(dir, "dev/block"), { recursive: true });
  writeFileSync(join(dir, "devices/disk/dev"), "99:0\n");
  writeFileSync(join(partition, "dev"), `${major}:${minor}\n`);
  if (isPartition) writeFileSync(join(partition, "partition"), "1\n");
  symlinkSync(partition, join(dir, `dev/block/${major}:${minor}`));
  return dir;
}

test("a directory without a disk has a reason", () => {
  expect(diskOf("/proc")).toMatchObject({
    device: null,
    why: expect.stringContaining("not on a disk of its own"),
  });
  const { major } = numbersOf(statSync(dir).dev);
  const why = major === 0 ? "not on a disk of its own" : "cannot be read: ENOENT";
  expect(diskOf(dir, join(dir, "no-such-sys"))).toMatchObject({
    device: null,
    why: expect.stringContaining(why),
  });
});

const hasDisk = numbersOf(statSync(tmpdir()).dev).major !== 0;
test.skipIf(!hasDisk)(
  `the disk of a partition is its whole disk${hasDisk ? "" : " (not capable: no disk here)"}`,
  () => {
    expect(diskOf(dir, makeSys(true))).toEqual({ device: "99:0", why: null });
  },
);

test.skipIf(!hasDisk)(
  `the disk of a whole disk is the disk itself${hasDisk ? "" : " (not capable: no disk here)"}`,
  () => {
    const { major, minor } = numbersOf(statSync(dir).dev);
    expect(diskOf(dir, makeSys(false))).toEqual({ device: `${major}:${minor}`, why: null });
  },
);

test("device numbers are split as the kernel joins them", () => {
  expect(numbersOf(0xfe21)).toEqual({ major: 254, minor: 33 });
  expect(numbersOf(0x10310)).toEqual({ major: 259, minor: 16 });
  expect(numbersOf(0x10082c)).toEqual({ major: 8, minor: 300 });
});
