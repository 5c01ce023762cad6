import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "node_modules/.bin");

test("the generated code is what the proto files give", () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-gen-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const template = readFileSync(join(root, "buf.gen.yaml"), "utf8").replace(
    "src/contract/gen",
    join(folder, "gen"),
  );
  writeFileSync(join(folder, "buf.gen.yaml"), template);
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, BUF_CACHE_DIR: join(folder, "cache") };
  execFileSync(join(bin, "buf"), ["generate", "--template", join(folder, "buf.gen.yaml")], {
    cwd: root,
    env,
  });
  const made = filesBelow(join(folder, "gen"));
  const kept = filesBelow(join(root, "src/contract/gen"));
  expect(Object.keys(kept), "run: npm run generate").toEqual(Object.keys(made));
  expect(kept, "run: npm run generate").toEqual(made);
});

function filesBelow(folder: string): Record<string, string> {
  const names = globSync("**/*.ts", { cwd: folder }).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}
