import { readFileSync, statSync } from "node:fs";
import { enableCompileCache } from "node:module";

// Starts jobctl from its bundle, or from its source when that has changed since. Set-up copies this file to
// node_modules/.writ/jobctl/, and the paths below are seen from there. One look at each source costs less than a
// thousandth of a second; size and time together also notice a file that was replaced by an older one.
const here = import.meta.dirname;

if (isFresh()) {
  enableCompileCache(`${here}/cache`);
  await import("./chunks/jobctl.mjs");
} else {
  await import("../../../src/cli/jobctl.ts");
}

function isFresh() {
  try {
    const sources = JSON.parse(readFileSync(`${here}/sources.json`, "utf8"));
    return sources.every(([path, size, seconds]) => {
      const found = statSync(`${here}/../../../${path}`, { throwIfNoEntry: false });
      return found?.size === size && Math.floor(found.mtimeMs / 1000) === seconds;
    });
  } catch {
    return false;
  }
}
