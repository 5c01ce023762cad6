import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadHubSettings } from "../../src/hub/settings/settings.ts";
import { loadWorkerSettings } from "../../src/worker/settings.ts";
import { advice, readBlock, readTable, readText, tableLines } from "./page.ts";

const page = "docs/operations.md";

test("the page lists every setting of the hub with its key and its default", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-docs-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const defaults = await loadHubSettings({ home, flags: {}, env: {} });
  const expected = declaredIn("src/hub/settings/declarations.ts").map(({ property, name, key }) => [
    `\`${name}\``,
    key === null ? "not in the file" : `\`${key}\``,
    shown(defaults[property as keyof typeof defaults]),
  ]);
  const lines = advice(page, tableLines(["variable", "key in writ.yaml", "default"], expected));
  const written = readTable(readBlock(page, "hub settings"));
  expect(expected.length).toBeGreaterThan(0);
  expect(
    written.map((cells) => cells.slice(0, 3)),
    lines,
  ).toEqual(expected);
  for (const cells of written) expect(cells[3], `${cells[0]} needs a meaning`).not.toBe("");
});

test("the page lists every setting of a worker, with its default where all machines have the same", async () => {
  const declared = declaredIn("src/worker/settings.ts");
  const env = { HUB_URL: "https://hub.example", WRIT_TOKEN: "sk_worker_example" };
  const defaults = await loadWorkerSettings({ env, home: "/nowhere", hostName: "host" });
  const written = readTable(readBlock(page, "worker settings"));
  const names = declared.map(({ name }) => `\`${name}\``);
  const lines = advice(
    page,
    tableLines(
      ["variable"],
      names.map((name) => [name]),
    ),
  );
  expect(names.length).toBeGreaterThan(0);
  expect(
    written.map(([name]) => name),
    lines,
  ).toEqual(names);
  for (const [index, { property, name }] of declared.entries()) {
    if (ofThisMachine.has(property) || !Object.hasOwn(defaults, property)) continue;
    const value = defaults[property as keyof typeof defaults];
    const isList = Array.isArray(value);
    expect(written[index]?.[2], name).toBe(isList ? `\`${JSON.stringify(value)}\`` : shown(value));
  }
});

test("the page lists every setting of the agent with its default", () => {
  const declared = Array.from(
    readText("src/agent/agent-settings.ts").matchAll(
      /name: "(\w+)",\s*parse: .*?,\s*default: (?:"([^"]+)"|(\w+))/gs,
    ),
    ([, name, text, value]) => [`\`${name}\``, `\`${text ?? value}\``],
  );
  const written = readTable(readBlock(page, "agent settings"));
  expect(declared).toHaveLength(6);
  expect(written.map((cells) => cells.slice(0, 2))).toEqual(declared);
});

/** What is given above, or differs from machine to machine. */
const ofThisMachine = new Set(["token", "workerId", "cores", "ramGb", "slots", "workDir", "solverCacheDir"]);

type Declared = { property: string; name: string; key: string | null };

/** The declarations are read from the source, because only their values leave the file. */
function declaredIn(path: string): Declared[] {
  const pattern = /^ {2}(\w+): \{\s*name: "([A-Z0-9_]+)",(\s*key: (?:null|"\w+"))?/gm;
  return Array.from(readText(path).matchAll(pattern), ([, property, name, key = ""]) => ({
    property: property!,
    name: name!,
    key: key.includes("null") ? null : (/"(\w+)"/.exec(key)?.[1] ?? usualKey(name!)),
  }));
}

function usualKey(name: string): string {
  return name.replace(/^WRIT_/, "").toLowerCase();
}

function shown(value: unknown): string {
  return value === null || value === undefined ? "none" : `\`${String(value)}\``;
}
