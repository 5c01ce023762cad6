import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jobctlShape } from "../../src/cli/jobctl/program.ts";
import { writShape } from "../../src/cli/writ/program.ts";
import { root } from "../paths.mjs";

/** What the package has to know about the Node that hub and worker run on: which one, with its hashes, and for what. */
export function hubNodeFacts({ optionalDependencies }) {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const names = Object.keys(optionalDependencies).filter((name) => name.startsWith("node-linux-"));
  return {
    version: optionalDependencies[names[0]],
    integrity: Object.fromEntries(
      names.map((name) => [name, lock.packages[`node_modules/${name}`].integrity]),
    ),
    commands: { writ: needsOf(writShape), jobctl: needsOf(jobctlShape) },
  };
}

function needsOf({ commands }) {
  return Object.fromEntries(Object.entries(commands).map(([name, { needs }]) => [name, needs !== undefined]));
}
