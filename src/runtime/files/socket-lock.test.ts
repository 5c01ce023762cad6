import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { trySocketLock } from "./socket-lock.ts";

function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-socket-lock-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("O-25 a lock by a socket is held by one, and a failed try does not loosen it", async () => {
  const dir = join(makeFolder(), "a".repeat(100), "locks");
  const held = await trySocketLock(dir);
  expect(await trySocketLock(dir)).toBeNull();
  expect(await trySocketLock(dir)).toBeNull();
  await held?.release();
  const next = await trySocketLock(dir);
  expect(next).not.toBeNull();
  await next?.release();
  expect(readdirSync(dir)).toEqual([]);
});

test("O-25 of many who try at once, at most one has it, and it can be had afterwards", async () => {
  const dir = makeFolder();
  const tries = await Promise.all(Array.from({ length: 20 }, () => trySocketLock(dir)));
  const held = tries.filter((lock) => lock !== null);
  expect(held.length).toBeLessThanOrEqual(1);
  for (const lock of held) await lock.release();
  const after = await trySocketLock(dir);
  expect(after).not.toBeNull();
  await after?.release();
});

test("O-25 the lock of a process that was killed is free, and what it left is removed", async () => {
  const dir = makeFolder();
  const holder = spawn(process.execPath, [lockingProgram(), dir]);
  const [shown] = await once(holder.stdout, "data");
  expect(String(shown)).toBe("held");
  expect(await trySocketLock(dir)).toBeNull();
  const exited = once(holder, "exit");
  holder.kill("SIGKILL");
  await exited;
  expect(readdirSync(dir)).toHaveLength(1);
  const lock = await trySocketLock(dir);
  expect(lock).not.toBeNull();
  expect(readdirSync(dir)).toHaveLength(1);
  await lock?.release();
});

/** A program that holds the lock until it dies. */
function lockingProgram(): string {
  const file = join(makeFolder(), "hold.ts");
  const library = JSON.stringify(join(import.meta.dirname, "socket-lock.ts"));
  writeFileSync(
    file,
    `import { trySocketLock } from ${library};
const lock = await trySocketLock(process.argv[2]);
process.stdout.write(lock === null ? "busy" : "held");
setInterval(() => lock, 1000);`,
  );
  return file;
}
