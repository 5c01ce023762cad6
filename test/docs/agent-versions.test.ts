import { expect, test } from "vitest";
import versions from "../agents/versions.json" with { type: "json" };
import { readBlock, readTable } from "./page.ts";

test("docs/delegation.md names the versions of the agents that the tests install", () => {
  const rows = readTable(readBlock("docs/delegation.md", "agents tried"));
  const named = Object.entries(versions).map(([name, { version }]) => [name, version]);
  expect(rows.map((row) => row.slice(0, 2))).toEqual(named);
});
