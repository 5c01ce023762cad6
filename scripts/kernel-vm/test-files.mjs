import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../paths.mjs";

const folder = "test/kernel/guest";

/** The test files whose path holds one of the filters, or all of them, relative to the checkout. */
export function findTestFiles(filters) {
  const names = readdirSync(join(root, folder), { recursive: true }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  const files = names.map((name) => `${folder}/${name}`).sort();
  return filters.length === 0
    ? files
    : files.filter((file) => filters.some((filter) => file.includes(filter)));
}

/**
 * One file after the other: they count what the whole machine does. The output for people goes to stdout as it arrives,
 * and TAP goes to a place of its own, where nothing that a test prints can be taken for a result.
 */
export function nodeTestArgs(files, options, resultsFile) {
  return [
    "--test",
    "--test-concurrency=1",
    "--test-timeout=600000",
    // What a test that failed has left running must not keep the machine waiting.
    "--test-force-exit",
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=tap",
    `--test-reporter-destination=${resultsFile}`,
    ...options,
    ...files,
  ];
}

/**
 * Reads the closing lines of node's TAP; undefined when it never got that far. `hollow` are the files without a
 * test: node takes each for a test that passed, under the file's name.
 */
export function countTap(tap, files) {
  const kinds = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"];
  const closing = new RegExp(kinds.map((kind) => `^# ${kind} (\\d+)\n`).join(""), "gm");
  // What a test prints stands in the TAP as comments, too; only the last such block is node's own.
  const last = [...tap.matchAll(closing)].at(-1);
  if (last === undefined) return undefined;
  const [, , , pass, fail, cancelled, skipped, todo] = last.map(Number);
  const passedNames = new Set([...tap.matchAll(/^ok \d+ - (.*)$/gm)].map((match) => match[1]));
  const hollow = files.filter((file) => passedNames.has(file));
  return { passed: pass - hollow.length, failed: fail + cancelled, skipped: skipped + todo, hollow };
}
