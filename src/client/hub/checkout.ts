import { readFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The checkout that a source file belongs to, or undefined if the package was installed, wherever to. A checkout has its
 * own home, so that trying out Writ leaves nothing in the user's.
 */
export function findCheckout(fileUrl: string): string | undefined {
  const sources = dirname(dirname(fileURLToPath(fileUrl)));
  const root = dirname(sources);
  if (basename(sources) !== "src" || root.split(sep).includes("node_modules")) return undefined;
  return isOfCheckout(join(root, "package.json")) ? root : undefined;
}

/** The one of a checkout is private; what `npm run pack` makes can be published. */
function isOfCheckout(manifest: string): boolean {
  try {
    const fields = JSON.parse(readFileSync(manifest, "utf8")) as { name?: string; private?: boolean };
    return fields.name === "writ" && fields.private === true;
  } catch {
    // There is no manifest, or it is not JSON.
    return false;
  }
}
