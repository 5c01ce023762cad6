import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../clock/clock.ts";
import { lockFile, tryLockFile } from "./file-lock.ts";

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-lock-"));
  path = join(dir, "thing.lock");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("a lock on a file", () => {
  test("that fails for another reason than its holder reports that reason", () => {
    expect(() => tryLockFile(join(dir, "missing", "thing.lock"))).toThrow("cannot be locked: ENOENT");
    writeFileSync(path, "this is not a database, and longer than its header would be".repeat(10));
    expect(() => tryLockFile(path)).toThrow("cannot be locked: file is not a database");
  });

  test("is held by one in this process, and a failed try does not loosen it", async () => {
    const held = tryLockFile(path);
    expect(tryLockFile(path)).toBeNull();
    expect(tryLockFile(path)).toBeNull();
    expect(await heldElsewhere()).toBe(true);
    held?.release();
    held?.release();
    const next = tryLockFile(path);
    expect(next).not.toBeNull();
    next?.release();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("is free again when its holder was killed", async () => {
    const holder = spawn(process.execPath, [lockingProgram(), path]);
    const [said] = await once(holder.stdout, "data");
    expect(String(said)).toBe("held");
    expect(tryLockFile(path)).toBeNull();
    const waiting = lockFile(path, {
      clock: systemClock,
      waitMs: 60_000,
      onWait: () => holder.kill("SIGKILL"),
    });
    const lock = await waiting;
    expect(lock).not.toBeNull();
    lock?.release();
  });

  test("is waited for no longer than allowed", async () => {
    const held = tryLockFile(path);
    expect(await lockFile(path, { clock: systemClock, waitMs: 100 })).toBeNull();
    held?.release();
  });
});

/** A program that holds the lock until it dies, or says that it cannot have it. */
function lockingProgram(): string {
  const file = join(dir, "hold.ts");
  const library = JSON.stringify(join(import.meta.dirname, "file-lock.ts"));
  writeFileSync(
    file,
    `import { tryLockFile } from ${library};
const lock = tryLockFile(process.argv[2]);
process.stdout.write(lock === null ? "busy" : "held");
if (lock !== null) setInterval(() => lock, 1000);`,
  );
  return file;
}

async function heldElsewhere(): Promise<boolean> {
  const program = spawn(process.execPath, [lockingProgram(), path]);
  const [said] = await once(program.stdout, "data");
  program.kill("SIGKILL");
  return String(said) === "busy";
}
