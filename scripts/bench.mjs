import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";
import { runPinned } from "./run-pinned.mjs";
import { setup } from "./setup.mjs";

const [name, ...args] = process.argv.slice(2);
const names = benchNames();

if (name !== undefined && names.includes(name)) {
  setup();
  process.exitCode = await runPinned([join("bench", `${name}.ts`), ...args]);
} else {
  if (name !== undefined) console.error(`writ: no benchmark is called ${JSON.stringify(name)}`);
  console.error(`usage: npm run bench -- NAME [ARGS...]\nbenchmarks: ${names.join(", ") || "(none yet)"}`);
  process.exitCode = name === undefined ? 0 : 1;
}

/** Files that start with an underscore are parts of benchmarks, not benchmarks. */
function benchNames() {
  const folder = join(root, "bench");
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !/^_|\.test\.ts$/.test(file));
  return files.map((file) => file.slice(0, -".ts".length)).sort();
}
