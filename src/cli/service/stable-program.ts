import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Where a machine has its Node, whatever these lead to. */
const nodesOfMachine = ["/usr/local/bin/node", "/usr/bin/node"];

/**
 * The words that start this program, by paths that stay the same when another version of the package, or of Node, is installed
 * in the same place. A unit of systemd keeps them for years. Why: ADR 0101.
 */
export function stableProgram({
  execPath,
  programFile,
}: {
  execPath: string;
  programFile: string;
}): string[] {
  return [stableNode(execPath), stableFile(programFile)];
}

/** The Node that the package has fetched is in a folder named after its version; the link beside that folder is not. */
function stableNode(execPath: string): string {
  const linkOfPackage = resolve(execPath, "../../../node");
  return [linkOfPackage, ...nodesOfMachine].find((path) => isSameFile(path, execPath)) ?? execPath;
}

/** In the outermost `node_modules`: package managers keep packages deeper down in folders named after versions. */
function stableFile(programFile: string): string {
  let found = programFile;
  for (let at = dirname(programFile); at !== dirname(at); at = dirname(at)) {
    const file = join(at, "writ/bin/writ.js");
    if (basename(at) === "node_modules" && isSameFile(file, programFile)) found = file;
  }
  return found;
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    // One of them does not exist.
    return false;
  }
}
