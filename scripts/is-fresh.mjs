import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/** Whether everything that this manifest lists is still as it was built from: the check that the loader makes too. */
export function isFresh(manifest) {
  if (!existsSync(manifest)) return false;
  return JSON.parse(readFileSync(manifest, "utf8")).sources.every(([path, size, seconds]) => {
    const found = statSync(join(root, path), { throwIfNoEntry: false });
    return found?.size === size && Math.floor(found.mtimeMs / 1000) === seconds;
  });
}

/** Size and time of a source, which change with its content. */
export function describeSource(path) {
  const { size, mtimeMs } = statSync(join(root, path));
  return [path, size, Math.floor(mtimeMs / 1000)];
}
