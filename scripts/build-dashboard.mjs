import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { build } from "vite";
import { describeSource } from "./is-fresh.mjs";
import { dashboardDir, dashboardManifest, root, stateDir } from "./paths.mjs";

// Builds the dashboard into files that the hub serves as they are, each also compressed. Set-up runs this on the pinned
// Node. The folder is replaced as a whole, so that a hub never reads one half of it.
const made = join(stateDir, `dashboard-${process.pid}`);
const sources = new Set(["package-lock.json", "scripts/build-dashboard.mjs", "src/dashboard/index.html"]);

rmSync(dashboardManifest, { force: true });
await build({
  configFile: false,
  root: join(root, "src", "dashboard"),
  base: "/",
  logLevel: "error",
  plugins: [noteSources(), oneLanguage(), noCompiling(), noDescriptions()],
  build: {
    outDir: made,
    emptyOutDir: true,
    target: "es2023",
    // Every file is a file of its own: a data: address would need an exception in the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // In one file with zod, so that jitless.ts has run before any other file makes a shape, whichever loads first.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "zod", test: /node_modules\/zod\/|\/jitless\.ts$/ }] } },
    },
  },
});
for (const file of readdirSync(made, { recursive: true, withFileTypes: true })) {
  if (!file.isFile() || !/\.(?:js|css|html|svg)$/.test(file.name)) continue;
  const path = join(file.parentPath, file.name);
  const options = { level: constants.Z_BEST_COMPRESSION };
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), options));
}
mkdirSync(stateDir, { recursive: true });
rmSync(dashboardDir, { recursive: true, force: true });
renameSync(made, dashboardDir);
// Written last: its existence means that the rest is complete.
writeFileSync(dashboardManifest, JSON.stringify({ sources: [...sources].sort().map(describeSource) }));

/** Everything of ours that went into the build, so that set-up can tell when it is out of date. */
function noteSources() {
  return {
    name: "note-sources",
    generateBundle() {
      for (const id of this.getModuleIds()) {
        const path = relative(root, id.split("?")[0]);
        if (path.startsWith("src/")) sources.add(path);
      }
    },
  };
}

/** zod exports its messages in sixty languages; only the built-in English is used. */
function oneLanguage() {
  const empty = "\0one-language";
  return {
    name: "one-language",
    enforce: "pre",
    resolveId(source, importer) {
      const isOfZod = importer?.includes("/node_modules/zod/") && /\/locales\/index\.js$/.test(source);
      return isOfZod ? empty : null;
    },
    load: (id) => (id === empty ? "export {};" : null),
  };
}

/**
 * zod compiles shapes to functions where it may. The page's policy forbids that, and even trying would be reported. It
 * has to be said before the first shape is made, wherever the bundler puts that.
 */
function noCompiling() {
  return {
    name: "no-compiling",
    transform(code, id) {
      if (!id.endsWith("/node_modules/zod/v4/core/core.js")) return null;
      const told = code.replace("__zod_globalConfig = {}", "__zod_globalConfig = { jitless: true }");
      if (told === code) throw new Error("error: zod keeps its configuration in another place now");
      return { code: told, map: null };
    },
  };
}

/** What shapes say of themselves is for the reference of the API; the page reads none of it. */
function noDescriptions() {
  return {
    name: "no-descriptions",
    transform(code, id) {
      if (!id.startsWith(join(root, "src/contract/"))) return null;
      const cuts = metaCalls(this.parse(code)).sort((a, b) => b.start - a.start);
      const kept = cuts.reduce((text, { start, end }) => text.slice(0, start) + text.slice(end), code);
      return { code: kept, map: null };
    },
  };
}

/** Where `.meta(…)` stands in a syntax tree, each call once: what is inside of one goes with it. */
function metaCalls(node) {
  if (typeof node !== "object" || node === null) return [];
  if (Array.isArray(node)) return node.flatMap(metaCalls);
  const { callee } = node;
  const isMeta = node.type === "CallExpression" && callee.type === "MemberExpression";
  if (isMeta && callee.property.name === "meta")
    return [{ start: callee.object.end, end: node.end }, ...metaCalls(callee.object)];
  return Object.values(node).flatMap(metaCalls);
}
