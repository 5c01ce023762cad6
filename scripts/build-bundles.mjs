import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { bundleDir, manifestOf, programs, root } from "./paths.mjs";

// Makes one file of each program, and one of each thread that it starts. Run by set-up, on the pinned Node.
const threadSources = ["src/store/sqlite/thread.ts", "src/worker/heartbeat-thread.ts"];
// Loaded by those few starts that need them, from where npm has put them.
const leftOut = ["@peculiar/x509", "nodemailer"];
// A program that was started from an earlier bundle may still start a thread of it.
const keptForMs = 30 * 24 * 60 * 60 * 1000;

for (const name of programs) rmSync(manifestOf(name), { force: true });
const threads = new Map();
for (const source of threadSources) threads.set(source, await bundle(source));
for (const name of programs) {
  const { file, sources } = await bundle(`src/cli/${name}.ts`);
  const ofThreads = [...threads.values()].flatMap((thread) => thread.sources);
  const all = new Set([
    ...sources,
    ...(name === "writ" ? ofThreads : []),
    "package.json",
    "package-lock.json",
  ]);
  // Last, because it says that the rest is complete.
  writeFileSync(manifestOf(name), JSON.stringify({ bundle: file, sources: [...all].sort().map(describe) }));
}
removeOld();

/** Bundles one file with all that it imports; answers with the name of the result and what it was made of. */
async function bundle(source) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [source],
    outdir: bundleDir,
    // The content is part of the name: whoever runs an earlier bundle keeps it whole.
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node26",
    // What is left out is required: a script that the loader compiles itself cannot import without a warning of Node's.
    supported: { "dynamic-import": false },
    legalComments: "none",
    external: leftOut,
    metafile: true,
    logLevel: "silent",
    plugins: [placesOfSources(), childProcessOnDemand(), oneLanguage()],
  });
  const [file] = Object.keys(metafile.outputs).map((path) => basename(path));
  return { file, sources: Object.keys(metafile.inputs).filter((path) => path.startsWith("src/")) };
}

/** How a file looks from outside: whoever changes its content changes this too. */
function describe(path) {
  const { size, mtimeMs } = statSync(join(root, path));
  return [path, size, Math.floor(mtimeMs / 1000)];
}

/** A source finds its neighbours by where it lies; in a bundle that is still there, and only threads are here. */
function placesOfSources() {
  return {
    name: "places-of-sources",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        if (!text.includes("import.meta")) return undefined;
        return { loader: "ts", contents: withPlaces(text, path) };
      });
    },
  };
}

function withPlaces(text, path) {
  const resolved = (to) =>
    `require("node:path").resolve(__dirname, ${JSON.stringify(relative(bundleDir, to))})`;
  const asUrl = (place) => `require("node:url").pathToFileURL(${place})`;
  return text
    .replaceAll(/new URL\("(\.\/[\w-]+\.ts)", import\.meta\.url\)/g, (found, name) => {
      const thread = threads.get(relative(root, join(dirname(path), name)));
      return thread === undefined ? found : asUrl(resolved(join(bundleDir, thread.file)));
    })
    .replaceAll("import.meta.url", `${asUrl(resolved(path))}.href`)
    .replaceAll("import.meta.dirname", resolved(dirname(path)));
}

/** The parser of options can start programs, which ours never asks of it, and loads all of Node's part for that. */
function childProcessOnDemand() {
  const namespace = "on-demand";
  const contents =
    'export default { spawn: (...args) => process.getBuiltinModule("node:child_process").spawn(...args) };';
  return {
    name: "child-process-on-demand",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
        importer.includes("/node_modules/commander/") ? { path, namespace } : undefined,
      );
      onLoad({ filter: /./, namespace }, () => ({ contents }));
    },
  };
}

/** zod hands on its messages in sixty languages, and nobody here asks for another than the one it speaks by itself. */
function oneLanguage() {
  const namespace = "one-language";
  return {
    name: "one-language",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer, path }) =>
        importer.includes("/node_modules/zod/") ? { path, namespace } : undefined,
      );
      onLoad({ filter: /./, namespace }, () => ({ contents: "export {};" }));
    },
  };
}

function removeOld() {
  const current = programs.map((name) => JSON.parse(readFileSync(manifestOf(name), "utf8")).bundle);
  for (const thread of threads.values()) current.push(thread.file);
  for (const name of readdirSync(bundleDir)) {
    const path = join(bundleDir, name);
    const isCurrent = current.some((file) => name.startsWith(file)) || !/-[A-Z0-9]{8}\.cjs/.test(name);
    const isOld = Date.now() - statSync(path).mtimeMs > keptForMs;
    if (!isCurrent && (isOld || name.includes(".cache"))) rmSync(path);
  }
}
