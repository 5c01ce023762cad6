import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../log/logger.ts";
import { isTemporaryFile } from "./private-file.ts";
import { removeLeftovers } from "./remove-leftovers.ts";

const dayMs = 86_400_000;
const uid = process.getuid?.();
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-leftovers-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, ageDays: number): void {
  writeFileSync(join(dir, name), "half");
  const at = (Date.now() - ageDays * dayMs) / 1000;
  utimesSync(join(dir, name), at, at);
}

test("A18: only what is ours, old and of a name that we give is removed", async () => {
  put(".ring.json.0123456789ab.tmp", 2);
  put(".ring.json.ba9876543210.tmp", 0);
  for (const name of ["ring.json", ".notes.tmp", ".x.0123456789AB.tmp", "a.0123456789ab.tmp"]) put(name, 2);
  mkdirSync(join(dir, "sub"));
  put("sub/.deep.0123456789ab.tmp", 2);
  symlinkSync("/etc/passwd", join(dir, ".link.0123456789ab.tmp"));
  const deps = { nowMs: Date.now(), uid, logger: silentLogger };

  await removeLeftovers([{ dir, isLeftover: isTemporaryFile }], { ...deps, uid: (uid ?? 0) + 1 });
  expect(readdirSync(dir)).toContain(".ring.json.0123456789ab.tmp");
  await removeLeftovers([{ dir, isLeftover: isTemporaryFile }], deps);
  await removeLeftovers([{ dir: join(dir, "none"), isLeftover: isTemporaryFile }], deps);
  expect(readdirSync(dir).sort()).toEqual(
    [
      ".link.0123456789ab.tmp",
      ".notes.tmp",
      ".ring.json.ba9876543210.tmp",
      ".x.0123456789AB.tmp",
      "a.0123456789ab.tmp",
      "ring.json",
      "sub",
    ].sort(),
  );
  expect(readdirSync(join(dir, "sub"))).toHaveLength(1);
  await removeLeftovers([{ dir, isDeep: true, isLeftover: isTemporaryFile }], deps);
  expect(readdirSync(join(dir, "sub"))).toEqual([]);
});
