import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const loader = join(import.meta.dirname, "../../scripts/jobctl-loader.mjs");

/** A checkout in which bundle and source say their names. */
function makeCheckout() {
  const root = mkdtempSync(join(tmpdir(), "writ-bundle-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const dir = join(root, "node_modules/.writ/jobctl");
  mkdirSync(join(dir, "chunks"), { recursive: true });
  mkdirSync(join(root, "src/cli"), { recursive: true });
  const source = join(root, "src/cli/jobctl.ts");
  writeFileSync(source, 'console.log("source");\n');
  writeFileSync(join(dir, "chunks/jobctl.mjs"), 'console.log("bundle");\n');
  copyFileSync(loader, join(dir, "jobctl.mjs"));
  const { size, mtimeMs } = statSync(source);
  const manifest = join(dir, "sources.json");
  writeFileSync(manifest, JSON.stringify([["src/cli/jobctl.ts", size, Math.floor(mtimeMs / 1000)]]));
  const run = (): string =>
    spawnSync(process.execPath, [join(dir, "jobctl.mjs")], { encoding: "utf8" }).stdout.trim();
  return { source, manifest, run };
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

test("a bundle that is what the sources say is run", () => {
  expect(makeCheckout().run()).toBe("bundle");
});
