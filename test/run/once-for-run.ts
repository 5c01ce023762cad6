import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";

const lookMs = 100;

/**
 * A file that many test files of a run need and that takes long to make. The first caller makes it, in a folder of its own,
 * and returns its name there; the others wait for it. If that fails, the next one tries.
 */
export function onceForRun(name: string, make: (dir: string) => string): string {
  const dir = join(inject("runFolder"), name);
  const made = join(dir, "made");
  while (!existsSync(made)) {
    if (!takeTurn(dir)) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookMs);
      continue;
    }
    try {
      writeFileSync(`${made}.new`, make(dir));
      renameSync(`${made}.new`, made);
    } catch (error) {
      rmSync(dir, { recursive: true });
      throw error;
    }
  }
  return join(dir, readFileSync(made, "utf8"));
}

function takeTurn(dir: string): boolean {
  try {
    mkdirSync(dir);
    return true;
  } catch {
    return false;
  }
}
