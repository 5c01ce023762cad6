import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findSilentCatches } from "./find-silent-catches.ts";
import { isForTests, isGenerated, stillSilent } from "./rules.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test.each([
  "try {\n  act();\n} catch {\n  return null;\n}",
  "try {\n  act();\n} catch {}",
  "await act().catch(() => {});",
  "const found = await act().catch(() => undefined);",
  "const found = await act().catch(() => null);",
])("an error that is dropped without a reason is found: %j", (text) => {
  expect(findSilentCatches({ path: "a.ts", text })).toHaveLength(1);
});

test.each([
  "try {\n  act();\n} catch {\n  // It has ended already.\n}",
  "try {\n  act();\n} catch {\n  throw new Error('it is not JSON');\n}",
  "try {\n  act();\n} catch (error) {\n  report(error);\n}",
  "// It has ended already.\nawait act().catch(() => {});",
  "await act().catch(() => {}); // It has ended already.",
  "await act().catch((error) => report(error));",
])("an error that is handled, or dropped with a reason, is not: %j", (text) => {
  expect(findSilentCatches({ path: "a.ts", text })).toEqual([]);
});

const sources = globSync(["src/**/*.{ts,tsx}", "scripts/**/*.{mjs,cjs,js}", "bench/**/*.ts"], {
  cwd: root,
}).filter((path) => (path.startsWith("bench/") || !isForTests(path)) && !isGenerated(path));

function silentIn(paths: readonly string[]): string[] {
  return paths.flatMap((path) => findSilentCatches({ path, text: readFileSync(`${root}/${path}`, "utf8") }));
}

test("no source drops an error without a reason", () => {
  const finished = sources.filter((path) => !stillSilent.some((room) => path.startsWith(room)));
  expect(finished).toContain("src/core/text/json-value.ts");
  expect(silentIn(finished)).toEqual([]);
});

test("a room in which every dropped error has its reason is no longer on the list", () => {
  const finished = stillSilent.filter(
    (room) => silentIn(sources.filter((path) => path.startsWith(room))).length === 0,
  );
  expect(finished).toEqual([]);
});
