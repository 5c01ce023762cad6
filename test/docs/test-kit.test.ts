import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readBlock, readText, root } from "./page.ts";

const folder = "examples/test-kit";
const files = {
  program: `${folder}/orders.mjs`,
  node: `${folder}/orders.node-test.mjs`,
  vitest: `${folder}/orders.test.mjs`,
};

test.each(Object.entries(files))("docs/test-kit.md shows the file %s as it is", (block, file) => {
  const shown = readBlock("docs/test-kit.md", block)
    .replace(/^```js\n/, "")
    .replace(/\n```$/, "\n");
  expect(shown).toBe(readText(file));
});

test("the example for node:test passes", () => {
  const { stdout, status } = spawnSync(process.execPath, ["--test", files.node], {
    cwd: root,
    encoding: "utf8",
  });
  expect(stdout).toContain("pass 2");
  expect(status).toBe(0);
});

test("the example for vitest passes", () => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const words = ["run", "--root", join(root, folder)];
  const env = { PATH: process.env["PATH"] };
  const { stdout, status } = spawnSync(process.execPath, [vitest, ...words], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  expect(stdout).toContain("2 passed");
  expect(status).toBe(0);
});
