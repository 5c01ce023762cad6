import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { knownVariables, warnOfUnknownVariables } from "./unknown-variables.ts";

const sources = join(import.meta.dirname, "../..");

test("a variable with a slip in its name is named with the one that was meant, and without its value", () => {
  let told = "";
  const stderr = { write: (text: string) => (told += text) } as unknown as CliContext["stderr"];
  const env = { WRIT_LEASE_MSS: "hush", WRIT_LEASE_MS: "1000", WRITER: "x", WRIT_ZZZZZZZZ: "hush" };
  warnOfUnknownVariables({ env, stderr });
  expect(told).toBe(
    "warning: WRIT_LEASE_MSS is no variable of Writ, and is ignored; did you mean WRIT_LEASE_MS?\n" +
      "warning: WRIT_ZZZZZZZZ is no variable of Writ, and is ignored\n",
  );
});

test("every variable that the sources name is known", () => {
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !file.includes(".test.") && !file.endsWith("unknown-variables.ts"),
  );
  const named = files.flatMap(
    (file) => readFileSync(join(sources, file), "utf8").match(/\bWRIT_[A-Z0-9_]+[A-Z0-9]\b/g) ?? [],
  );
  expect([...new Set(named)].filter((name) => !knownVariables.has(name))).toEqual([]);
});
