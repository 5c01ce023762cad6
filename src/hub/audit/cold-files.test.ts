import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { appendCold, coldPath } from "./cold-files.ts";

const day = "2026-01-31";

function auditDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-cold-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a file of a day that cannot be read is not replaced by newer records", async () => {
  const folder = auditDir();
  // A link to itself: reading it fails with ELOOP, also for root.
  symlinkSync(coldPath(folder, day), coldPath(folder, day));
  await expect(appendCold(folder, day, [])).rejects.toThrow("ELOOP");
  expect(lstatSync(coldPath(folder, day)).isSymbolicLink()).toBe(true);
});

test("the first records of a day create its file", async () => {
  const folder = auditDir();
  await appendCold(folder, day, []);
  expect(readFileSync(coldPath(folder, day)).length).toBeGreaterThan(0);
});
