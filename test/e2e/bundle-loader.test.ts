import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const loader = join(import.meta.dirname, "../../scripts/bundle-loader.cjs");
const bundle = "jobctl-ABCDEFGH.cjs";

/** A checkout in which bundle and source say their names. The bundle ends with the code in its second word. */
function makeCheckout() {
  const root = mkdtempSync(join(tmpdir(), "writ-bundle-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const dir = join(root, "node_modules/.writ/bundle");
  mkdirSync(dir, { recursive: true });
  mkdirSync(join(root, "src/cli"), { recursive: true });
  const source = join(root, "src/cli/jobctl.ts");
  writeFileSync(source, 'console.log("source");\n');
  writeFileSync(join(dir, bundle), 'console.log("bundle");process.exitCode=Number(process.argv[3]??0);');
  copyFileSync(loader, join(dir, "jobctl.cjs"));
  const { size, mtimeMs } = statSync(source);
  const manifest = join(dir, "jobctl.json");
  const sources = [["src/cli/jobctl.ts", size, Math.floor(mtimeMs / 1000)]];
  writeFileSync(manifest, JSON.stringify({ bundle, sources }));
  const run = (...args: string[]): string =>
    spawnSync(process.execPath, [join(dir, "jobctl.cjs"), ...args], { encoding: "utf8" }).stdout.trim();
  const kept = (): string[] => readdirSync(dir).filter((name) => name.includes(".cache"));
  return { dir, source, manifest, run, kept };
}

test("a source that has changed is run instead of its bundle, also when it is an older one", () => {
  const { source, run } = makeCheckout();
  for (const seconds of [1_000_000_000, 4_000_000_000]) {
    utimesSync(source, seconds, seconds);
    expect(run()).toBe("source");
  }
});

test("a bundle whose list of sources is missing or broken is not run", () => {
  const { manifest, run } = makeCheckout();
  writeFileSync(manifest, "{");
  expect(run()).toBe("source");
  rmSync(manifest);
  expect(run()).toBe("source");
});

test("a command that fails keeps nothing", () => {
  const { run, kept } = makeCheckout();
  expect(run("status", "3")).toBe("bundle");
  expect(kept()).toEqual([]);
});

test("what was kept is not believed when it is broken, and made anew", () => {
  const { dir, run, kept } = makeCheckout();
  const path = join(dir, `${bundle}.status.cache`);
  writeFileSync(path, "nonsense");
  expect(run("status")).toBe("bundle");
  expect(kept()).toEqual([`${bundle}.status.cache`]);
  expect(statSync(path).size).toBeGreaterThan("nonsense".length);
});

test("a bundle that is what the sources say is run, and each command keeps its own code", () => {
  const { run, kept } = makeCheckout();
  for (const args of [["status"], ["list"], ["list"], ["--json", "0"], ["../x"]]) {
    expect(run(...args)).toBe("bundle");
  }
  expect(kept().sort()).toEqual(["list", "other", "status"].map((name) => `${bundle}.${name}.cache`));
});
