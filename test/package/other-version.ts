import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeHome } from "../support/remove-home.ts";

/** Makes a tarball of another version out of that of the checkout: the same sources, packed with this version number. */
export function packOtherVersion(tarball: string, version: string, outDir: string): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-other-version-"));
  try {
    execFileSync("tar", ["-xzf", tarball, "-C", dir]);
    const folder = join(dir, "package");
    const manifest = join(folder, "package.json");
    const fields = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
    writeFileSync(manifest, JSON.stringify({ ...fields, version }));
    const lib = join(folder, "lib");
    // The bundles have it from the package.json of the checkout, as its only field.
    for (const name of readdirSync(lib)) {
      const text = readFileSync(join(lib, name), "utf8");
      const changed = text.replaceAll(`version: ${JSON.stringify(fields.version)}`, `version: "${version}"`);
      if (changed !== text) writeFileSync(join(lib, name), changed);
    }
    mkdirSync(outDir, { recursive: true });
    const packed = join(outDir, `writ-${version}.tgz`);
    execFileSync("tar", ["-czf", packed, "-C", dir, "package"]);
    return packed;
  } finally {
    removeHome(dir);
  }
}
