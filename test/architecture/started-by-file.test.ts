import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("every source that is started by its file is a bundle of its own, in set-up and in the package", () => {
  const started = globSync("src/**/*.ts", { cwd: root })
    .filter((path) => !/\.test(?:ing)?\.ts$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      const places = text.matchAll(/new URL\("(\.[\w./-]+\.ts)", import\.meta\.url\)/g);
      return [...places].map(([, file]) => join(dirname(path), file!));
    });
  const lists = readFileSync(join(root, "scripts/bundle-plugins.mjs"), "utf8");
  const listed = [...lists.matchAll(/"(src\/[^"]+\.ts)"/g)].map(([, path]) => path);
  expect(started.length).toBeGreaterThan(0);
  expect(listed.toSorted()).toEqual([...new Set(started)].sort());
  // They are side by side in the package.
  const names = listed.map((path) => basename(path!));
  expect(names).toEqual([...new Set(names)]);
});

test("the Python package has the version of this one", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(readFileSync(join(root, "python/pyproject.toml"), "utf8")).toContain(`\nversion = "${version}"\n`);
});
