import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FolderSegments } from "./folder-segments.ts";

const id = "ab98c0de-0000-4000-8000-abcdef012345";
let root: string;
let agreed: string | null;
/** What the database does: the first mark stays. */
const agree = async (mark: string) => {
  agreed ??= mark;
  return agreed;
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "writ-segments-"));
  agreed = null;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a folder that does not exist is refused and not made: it may not be mounted", async () => {
  const missing = join(root, "missing");
  await expect(FolderSegments.open(missing, agree)).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("WRIT_OUTPUTS_DIR"),
  });
  expect(existsSync(missing)).toBe(false);
});

test("a folder with another mark, or without one, is refused and left as it was", async () => {
  await FolderSegments.open(root, agree);
  const other = mkdtempSync(join(tmpdir(), "writ-segments-"));
  try {
    const refusal = { code: "CONFIG_INVALID", message: expect.stringContaining("mount the same folder") };
    await expect(FolderSegments.open(other, agree)).rejects.toMatchObject(refusal);
    expect(readdirSync(other)).toEqual([]);
    await FolderSegments.open(other, async (mark) => mark);
    await expect(FolderSegments.open(other, agree)).rejects.toMatchObject(refusal);
    expect(readdirSync(other)).toEqual([".writ-outputs"]);
  } finally {
    rmSync(other, { recursive: true });
  }
});

test("several hubs that start at once agree on one mark", async () => {
  const opened = await Promise.all(Array.from({ length: 8 }, () => FolderSegments.open(root, agree)));
  expect(opened).toHaveLength(8);
  expect(readdirSync(root)).toEqual([".writ-outputs"]);
});

test("nothing is written to, or removed from, a folder that is not mounted any more", async () => {
  const segments = await FolderSegments.open(root, agree);
  await segments.put(id, randomBytes(10));
  const elsewhere = `${root}-elsewhere`;
  renameSync(root, elsewhere);
  mkdirSync(root);
  const refusal = { code: "FILES_UNAVAILABLE", message: expect.stringContaining("is it mounted") };
  await expect(segments.put(id, randomBytes(10))).rejects.toMatchObject(refusal);
  await expect(segments.remove(id)).rejects.toMatchObject(refusal);
  await expect(segments.read(id, { start: 0, end: 1 })).rejects.toMatchObject({ code: "FILES_UNAVAILABLE" });
  expect(readdirSync(root)).toEqual([]);
  rmSync(root, { recursive: true });
  renameSync(elsewhere, root);
  expect(await segments.read(id, { start: 0, end: 10 })).toHaveLength(10);
});

test("an object is private, read in any range, and removed", async () => {
  const segments = await FolderSegments.open(root, agree);
  const bytes = randomBytes(700_000);
  await segments.put(id, bytes);
  expect(statSync(join(root, "ab", id)).mode & 0o777).toBe(0o600);
  for (const [start, end] of [
    [0, 700_000],
    [1, 2],
    [300_000, 600_001],
    [5, 5],
  ] as const)
    expect((await segments.read(id, { start, end })).equals(bytes.subarray(start, end))).toBe(true);
  await expect(segments.read(id, { start: 699_999, end: 700_001 })).rejects.toMatchObject({
    code: "FILES_UNAVAILABLE",
  });
  await segments.remove(id);
  await segments.remove(id);
  expect(readdirSync(join(root, "ab"))).toEqual([]);
});
