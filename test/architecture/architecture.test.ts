import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findOffences } from "./find-offences.ts";
import { folderFilesMax, isForTests, isGenerated } from "./rules.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the sources keep to the import directions and the house rules", () => {
  const paths = globSync(["src/**/*.{ts,tsx}", "dashboard/**/*.{ts,tsx}"], {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  const offences = findOffences(
    paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") })),
  );

  // Guards against a pattern that finds no file and therefore no fault.
  expect(paths.length).toBeGreaterThan(0);
  expect(offences, offences.join("\n")).toEqual([]);
});

test(`no folder of sources has more than ${folderFilesMax} of them`, () => {
  const sources = globSync(["src/**/*.{ts,tsx}", "launcher/**/*.c"], { cwd: root });
  const counts = new Map<string, number>();
  for (const path of sources.filter((source) => !isForTests(source) && !isGenerated(source)))
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);

  expect(counts.get("src/hub/use-cases/jobs")).toBeGreaterThan(0);
  expect([...counts].filter(([, count]) => count > folderFilesMax)).toEqual([]);
});
