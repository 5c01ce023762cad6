import { describe, expect, test } from "vitest";
import { findOffences } from "./find-offences.ts";
import { rooms } from "./rules.ts";

const offencesOf = (path: string, text: string) => findOffences([{ path, text }]);

describe("an import is refused", () => {
  test.each([
    ["src/core/a.ts", `import { readFile } from "node:fs";`, "core imports no package"],
    ["src/core/a.ts", `import { z } from "zod";`, "core imports no package"],
    ["src/core/a.ts", `import { b } from "../signing/b.ts";`, "core may import only itself"],
    ["src/contract/a.ts", `import { b } from "node:crypto";`, "has to run in a browser"],
    ["src/contract/a.ts", `import { b } from "crypto";`, "has to run in a browser"],
    ["src/store/a.ts", `export * from "../hub/b.ts";`, "store may import only core, signing"],
    ["src/store/a.ts", `const b = await import("../runtime/b.ts");`, "store may import only core, signing"],
    [
      "src/store/a.ts",
      `import type {\n  B,\n} from "../runtime/b.ts";`,
      "store may import only core, signing",
    ],
    ["src/output/a.ts", `new Worker(new URL("../hub/b.ts", import.meta.url))`, "output may import only core"],
    ["src/hub/a.ts", `import { b } from "../worker/b.ts";`, "hub and worker never import each other"],
    ["src/hub/a.test.ts", `import { b } from "../worker/b.ts";`, "hub and worker never import each other"],
    ["src/agent/a.ts", `import { b } from "../worker/b.ts";`, "agent and worker never import each other"],
    ["dashboard/a.tsx", `import { b } from "../src/hub/b.ts";`, "dashboard and hub never import each other"],
    [
      "dashboard/a.tsx",
      `import { b } from "../src/runtime/b.ts";`,
      "dashboard may import only core, contract",
    ],
    ["src/cli/a.ts", `import { b } from "../hub/use-cases/b.ts";`, "cli may import only"],
    ["src/cli/a.ts", `import { b } from "../../bench/b.ts";`, "it lies outside the rooms"],
    [
      "src/core/a.ts",
      `import b from "../../package.json" with { type: "json" };`,
      "it lies outside the rooms",
    ],
    ["src/hub/use-cases/a.ts", `import { b } from "../http/b.ts";`, "never imports src/hub/http/"],
    [
      "src/hub/views/a.ts",
      `import { b } from "../../output/folder/b.ts";`,
      "never imports src/output/folder/",
    ],
    ["src/store/a.ts", `import { b } from "./sqlite/b.ts";`, "never imports src/store/sqlite/"],
  ])("%s: %s", (path, text, reason) => {
    expect(offencesOf(path, text)).toEqual([expect.stringContaining(reason)]);
  });
});

test.each([
  ["src/hub/a.ts", `import { b } from "../store/b.ts";`],
  ["src/hub/http/a.ts", `import { b } from "../use-cases/b.ts";`],
  ["src/hub/views/a.ts", `import { b } from "../../output/outputs.ts";`],
  ["src/hub/a.ts", `import { b } from "node:fs";\nimport { z } from "zod";`],
  ["src/contract/a.ts", `import { z } from "zod";`],
  ["src/cli/a.ts", `import { b } from "../hub/start.ts";`],
  ["src/runtime/a.ts", `import b from "../../package.json" with { type: "json" };`],
  ["src/core/a.test.ts", `import { b } from "../signing/b.ts";\nimport { test } from "vitest";`],
  ["src/core/a.ts", `// import { b } from "../hub/b.ts";\n/* from "node:fs" */`],
])("an import is accepted: %s: %s", (path, text) => {
  expect(offencesOf(path, text)).toEqual([]);
});

describe("a text is refused", () => {
  test.each([
    ["src/hub/a.ts", "const b = process.env.HOME;", "process.env"],
    ["src/hub/a.ts", "const b = `home: $" + "{process.env.HOME}`;", "process.env"],
    ["src/hub/a.ts", "const { argv } = process;", "process.env"],
    ["src/hub/a.ts", `import { env } from "node:process";`, "node:process"],
    ["src/hub/a.ts", "export default 1;", "default export"],
    ["src/hub/a.ts", "let b: any;", "any type"],
    ["src/hub/a.ts", "const b = c as any;", "any type"],
    ["src/hub/a.ts", "let b: Record<string, any>;", "any type"],
    ["src/hub/a.ts", "// TO" + "DO: later", "unfinished work"],
    ["src/hub/a.ts", "b();\n".repeat(401), "401 lines"],
    ["src/hub/a.test.ts", "let b: any;", "any type"],
    ["src/hub/a.ts", "export const WAIT_MS_MAX = 5;", "a constant in capitals"],
    ["src/hub/a.ts", "class A {\n  private b = 1;\n}", "a private member is #private"],
    ["src/nowhere/a.ts", "", "lies in no room"],
    ["src/a.ts", "", "lies in no room"],
  ])("%s: %.40s", (path, text, reason) => {
    expect(offencesOf(path, text)).toEqual([expect.stringContaining(reason)]);
  });
});

test.each([
  ["src/cli/writ.ts", "process.exit(main(process.argv, process.env));"],
  ["src/hub/a.test.ts", "spawn(b, { env: process.env });"],
  ["src/hub/a.ts", "process.exitCode = 1; process.once(b, c);"],
  ["src/hub/a.ts", `throw new Error("process.env and : any are words here");`],
  ["src/hub/a.ts", "// takes any worker: any of them\nawait Promise.any(b);"],
  ["src/hub/a.ts", "b();\n".repeat(400)],
  ["src/contract/gen/a.ts", "b();\n".repeat(401)],
])("a text is accepted: %s: %.40s", (path, text) => {
  expect(offencesOf(path, text)).toEqual([]);
});

test("every offence is listed, with its file and line", () => {
  const files = [
    { path: "src/core/a.ts", text: `\nimport "node:fs";\nimport { b } from "../hub/b.ts";` },
    { path: "src/worker/a.ts", text: `import { b } from "../hub/b.ts";` },
  ];
  expect(findOffences(files)).toEqual([
    "src/core/a.ts:2 imports node:fs: core imports no package",
    "src/core/a.ts:3 imports src/hub/b.ts: core may import only itself",
    "src/worker/a.ts:1 imports src/hub/b.ts: worker and hub never import each other",
  ]);
});

test("the table has no circle, so that rooms can be understood one after the other", () => {
  const visit = (room: string, path: string[]): void => {
    expect(path, [...path, room].join(" → ")).not.toContain(room);
    for (const next of rooms[room]!.imports) visit(next, [...path, room]);
  };
  for (const room of Object.keys(rooms)) visit(room, []);
});
