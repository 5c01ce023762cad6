import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { advice, readBlock, readTable, tableLines } from "./page.ts";

const page = "docs/adr/dependencies.md";

test("every dependency has a line that says what it replaces and why it is here", () => {
  const { dependencies, devDependencies, optionalDependencies } = manifest;
  const names = [dependencies, devDependencies, optionalDependencies].flatMap(Object.keys).sort();
  const written = readTable(readBlock(page, "dependencies"));
  const shown = advice(
    page,
    tableLines(
      ["package"],
      names.map((name) => [`\`${name}\``]),
    ),
  );
  expect(written.map(([name]) => name?.replaceAll("`", "")).sort(), shown).toEqual(names);
  for (const [name, replaces, why] of written) {
    expect(replaces, `what does ${name} replace?`).toBeTruthy();
    expect(why, `why is ${name} here?`).toBeTruthy();
  }
});
