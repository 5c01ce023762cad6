import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeWhole } from "./write-whole.ts";

function open(path: string, flags: string): number {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
}

test("a disk without room is an error with the kernel's code", () => {
  expect(() => writeWhole(open("/dev/full", "w"), Buffer.from("x"))).toThrow(
    expect.objectContaining({ code: "ENOSPC" }),
  );
});

test("all bytes follow what is there, and none is nothing to write", () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-write-whole-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, "file");
  const fd = open(path, "a");
  for (const text of ["one ", "", "two"]) writeWhole(fd, Buffer.from(text));
  expect(readFileSync(path, "utf8")).toBe("one two");
});
