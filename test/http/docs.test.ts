import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll();
const root = join(import.meta.dirname, "../..");
const get = (path: string) => hub.call("GET", `//${path}`);

test.each([
  "docs/../package.json",
  "docs/..%2Fpackage.json",
  "docs/%2e%2e/package.json",
  "docs/..%252fpackage.json",
  "docs//etc/passwd.md",
  "docs/adr/../../README.md",
  "docs/images/overview.png",
  "docs/nothing.md",
  "docs/mcp.md%00",
  "docs/constructor",
])("nothing but pages of the docs is served: %s", async (path) => {
  expect(await get(path)).toMatchObject({ status: 404, code: "NOT_FOUND" });
});

test("the pages of this version are served as they are, without a token", async () => {
  for (const path of ["docs/mcp.md", "docs/adr/README.md"]) {
    const page = await get(path);
    expect(page).toMatchObject({ status: 200 });
    expect(page.headers["content-type"]).toBe("text/markdown; charset=utf-8");
    expect(page.text).toBe(readFileSync(join(root, path), "utf8"));
  }
});

test("/llms.txt lists them with their titles, and each of its links leads to a page", async () => {
  const list = await get("llms.txt");
  expect(list.text).toMatch(/^# Writ\n\n> .+\n/);
  expect(list.text).toContain("- [Tools for models: MCP](/docs/mcp.md): ");
  const links = [...list.text.matchAll(/\]\(\/([^)]+)\)/g)].map(([, path]) => path!);
  expect(links.length).toBeGreaterThan(20);
  for (const path of links) expect(await get(path), path).toMatchObject({ status: 200 });
});
