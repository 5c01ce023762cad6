import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";

const lookMs = 100;
/** Far longer than anything here takes on a busy machine; a maker that was killed never ends. */
const patienceMs = 600_000;

/**
 * A file that many test files of a run need and that takes long to make. The first caller makes it, in a folder of its own,
 * and returns its name there; the others wait for it. If that fails, the next one tries.
 */
export function onceForRun(name: string, make: (dir: string) => string): string {
  const dir = join(inject("runFolder"), name);
  const made = join(dir, "made");
  const giveUpMs = performance.now() + patienceMs;
  while (!existsSync(made)) {
    if (!takeTurn(dir)) {
      if (performance.now() > giveUpMs)
        throw new Error(`no process has made ${dir} in ${patienceMs / 1000} s`);
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
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
