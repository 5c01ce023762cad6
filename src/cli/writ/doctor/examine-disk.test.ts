import { expect, test } from "vitest";
import { examineDisk, judgeDisk } from "./examine-disk.ts";

const mib = 1024 ** 2;
const disk = { bsize: 4096, files: 1000, ffree: 900 };
const withFree = (bytes: number) => ({ ...disk, bavail: bytes / disk.bsize });

test("a full disk is a problem, and the sentence says what to do", () => {
  expect(judgeDisk("/h", withFree(0))).toEqual({
    check: "disk",
    state: "problem",
    says: "the disk of /h is full (0 bytes free); make room, or the hub cannot accept or finish jobs",
  });
});

test("a disk that can hold no more files is a problem, however much room it has", () => {
  expect(judgeDisk("/h", { ...withFree(4096 * mib), ffree: 0 })).toMatchObject({
    state: "problem",
    says: expect.stringContaining("no more files"),
  });
});

test("a disk that is nearly full is a warning", () => {
  expect(judgeDisk("/h", withFree(100 * mib))).toMatchObject({
    state: "warning",
    says: "the disk of /h is nearly full (100 MiB free); make room soon",
  });
});

test("a file system that does not count files is judged by its bytes alone", () => {
  expect(judgeDisk("/h", { ...withFree(4096 * mib), files: 0, ffree: 0 })).toEqual({
    check: "disk",
    state: "ok",
    says: "4.0 GiB free for /h",
  });
});

test("of a home that does not exist there is nothing to say", async () => {
  expect(await examineDisk("/nowhere/writ")).toEqual([]);
});
