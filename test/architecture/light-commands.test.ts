import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** These libraries take longer to load than a short command takes in all. */
const heavy = /^(?:zod|yaml|mqtt|@bufbuild\/|@modelcontextprotocol\/)/;

test.each(["start", "run", "attach", "stream", "status", "stop", "list", "watch"])(
  "jobctl %s loads no large library before it knows which client it needs",
  (name) => {
    const [path = ""] = globSync(`src/cli/jobctl/*/${name}.ts`, { cwd: root });
    const packages = packagesBehind(path);
    expect(packages).toContain("commander");
    expect([...packages].filter((found) => heavy.test(found))).toEqual([]);
  },
);

test("jobctl registry loads nothing of a hub or its client, and no large library", () => {
  const seen = new Set<string>();
  const packages = packagesBehind("src/cli/jobctl/registry/registry.ts", seen);
  expect(packages).toContain("node:sqlite");
  expect([...packages].filter((found) => heavy.test(found))).toEqual([]);
  expect([...seen].filter((path) => /^src\/(?:hub|worker|client|contract)\//.test(path))).toEqual([]);
});

test("the HTTP client does not load what only gRPC needs", () => {
  const packages = packagesBehind("src/client/writ.ts");
  expect(packages).toContain("zod");
  expect(packages).not.toContain("node:http2");
});

test.each([
  ["a hub", "src/hub/start.ts"],
  ["every command of writ", "src/cli/writ.ts"],
  ["writ mcp, before it has found its settings", "src/cli/writ/mcp/mcp.ts"],
])("%s starts without the library of MCP", (_, path) => {
  const seen = new Set<string>();
  const packages = [...packagesBehind(path, seen)];
  expect(packages.filter((found) => found.startsWith("@modelcontextprotocol/"))).toEqual([]);
  expect(seen).not.toContain("src/mcp/create-server.ts");
});

test("one file of the hub and one of the command line load the library of MCP, when they are asked", () => {
  const asking = globSync("src/**/*.ts", { cwd: root }).filter((path) =>
    /import\("[^"]*\/mcp\/serve-(?:http|stdio)\.ts"\)/.test(readFileSync(join(root, path), "utf8")),
  );
  expect(asking.sort()).toEqual(["src/cli/writ/mcp/mcp.ts", "src/hub/http/mcp/mcp-endpoint.ts"]);
});

/** The packages that a file and everything that it imports load at once; `import()` comes later. */
function packagesBehind(path: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(path)) return packages;
  seen.add(path);
  const text = readFileSync(join(root, path), "utf8");
  for (const [, from = ""] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)";$/gm)) {
    if (!from.startsWith(".")) packages.add(from);
    else if (from.endsWith(".ts")) {
      for (const found of packagesBehind(join(dirname(path), from), seen)) packages.add(found);
    }
  }
  return packages;
}
