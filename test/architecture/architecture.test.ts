import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findOffences } from "./find-offences.ts";

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
