import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InstalledPackage } from "./installed-package.ts";

/**
 * Writes an npm that fetches the Node of the checkout, so that no registry is needed and nothing is unpacked: what it leaves is
 * what npm leaves. Returns its file, for `npm_execpath`.
 */
export function writeFetchingNpm({ folder }: Pick<InstalledPackage, "folder">, dir: string): string {
  const facts = readFileSync(join(folder, "bin/hub-node.json"), "utf8");
  const name = `node-${process.platform}-${process.arch}`;
  const { integrity } = JSON.parse(facts) as { integrity: Record<string, string> };
  const lock = { packages: { [`node_modules/${name}`]: { integrity: integrity[name] } } };
  mkdirSync(dir, { recursive: true });
  const file = join(dir, "npm.js");
  writeFileSync(
    file,
    `const { copyFileSync, mkdirSync, writeFileSync } = require("node:fs");
const folder = process.argv[process.argv.indexOf("--prefix") + 1];
mkdirSync(folder + "/node_modules/${name}/bin", { recursive: true });
copyFileSync(${JSON.stringify(process.execPath)}, folder + "/node_modules/${name}/bin/node");
writeFileSync(folder + "/package-lock.json", ${JSON.stringify(JSON.stringify(lock))});
`,
  );
  return file;
}
