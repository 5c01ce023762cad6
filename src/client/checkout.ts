import { readFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The checkout that a source file belongs to, or undefined if the package was installed. A checkout has its own home,
 * so that trying out Writ leaves nothing in the user's.
 */
export function findCheckout(fileUrl: string): string | undefined {
  const sources = dirname(dirname(fileURLToPath(fileUrl)));
  const root = dirname(sources);
  if (basename(sources) !== "src" || root.split(sep).includes("node_modules")) return undefined;
  return nameOfPackage(root) === "writ" ? root : undefined;
}

function nameOfPackage(root: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { name?: string }).name;
  } catch {
    return undefined;
  }
}
