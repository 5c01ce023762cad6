import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../paths.mjs";

/** The licences of all packages whose code or declarations are part of ours, as one text. */
export function licencesOf(files) {
  const names = new Set(files.map(packageOf).filter((name) => name !== undefined));
  const parts = [...names].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return `This package contains code of these packages.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

function packageOf(file) {
  return /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}
