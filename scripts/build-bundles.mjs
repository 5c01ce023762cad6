import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { describeSource } from "./is-fresh.mjs";
import { bundleDir, manifestOf, programs, root, sourceOf } from "./paths.mjs";

// Bundles each program, and each thread that it starts, into one file. Set-up runs this on the pinned Node.
const threadSources = [
  "src/store/sqlite/thread.ts",
  "src/store/sqlite/reader-thread.ts",
  "src/worker/heartbeat-thread.ts",
];
// Needed by few commands, which load them from node_modules.
const leftOut = ["@peculiar/x509", "mqtt", "nodemailer"];
// A program that was started from an earlier bundle may still start a thread from it.
const keptForMs = 30 * 24 * 60 * 60 * 1000;

for (const name of programs) rmSync(manifestOf(name), { force: true });
const reference = await makeReferenceFile();
const threads = new Map();
for (const source of threadSources) threads.set(source, await bundle(source));
for (const name of programs) {
  const { file, sources } = await bundle(sourceOf(name));
  const ofThreads = [...threads.values()].flatMap((thread) => thread.sources);
  const all = new Set([
    ...sources,
    ...(name === "writ" ? [...ofThreads, ...reference.sources] : []),
    "package.json",
    "package-lock.json",
  ]);
  // Written last: its existence means that the rest is complete.
  writeFileSync(
    manifestOf(name),
    JSON.stringify({ bundle: file, sources: [...all].sort().map(describeSource) }),
  );
}
removeOld();

/** Bundles one file with everything that it imports; returns the bundle's name and its sources. */
async function bundle(source) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [source],
    outdir: bundleDir,
    // The name holds a hash of the content, so a running program keeps its own bundle intact.
    entryNames: "[name]-[hash]",
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node26",
    // External packages are loaded by require: in a script that the loader compiles, import makes Node print a warning.
    supported: { "dynamic-import": false },
    legalComments: "none",
    external: leftOut,
    metafile: true,
    logLevel: "silent",
    plugins: [readReference(), placesOfSources(), childProcessOnDemand(), oneLanguage()],
  });
  const [file] = Object.keys(metafile.outputs).map((path) => basename(path));
  return { file, sources: Object.keys(metafile.inputs).filter((path) => path.startsWith("src/")) };
}

/** The API reference of this version, made once: a hub serves it as it is. Its name holds a hash of the content too. */
async function makeReferenceFile() {
  const { makeReference } = await import("../src/hub/http/reference/reference-files.ts");
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const text = JSON.stringify(makeReference(version));
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase();
  const file = `reference-${hash}.json`;
  writeFileSync(join(bundleDir, file), text);
  const folder = "src/hub/http/reference";
  return { file, sources: readdirSync(join(root, folder)).map((name) => `${folder}/${name}`) };
}

/** In a bundle the reference is read from that file, so that no hub describes its shapes again. */
function readReference() {
  const contents = `export function loadReference() {
    const file = require("node:path").join(__dirname, ${JSON.stringify(reference.file)});
    return JSON.parse(require("node:fs").readFileSync(file, "utf8"));
  }`;
  return {
    name: "read-reference",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/hub\/http\/reference\/load-reference\.ts$/ }, () => ({ contents }));
    },
  };
}

/** Sources find other files by import.meta. In a bundle this still means the source's folder, except for threads. */
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

/** Commander loads node:child_process to start subcommands as programs, which ours never do. */
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

/** zod exports its messages in sixty languages; only the built-in English is used. */
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
  for (const { file } of [...threads.values(), reference]) current.push(file);
  for (const name of readdirSync(bundleDir)) {
    const path = join(bundleDir, name);
    const isCurrent =
      current.some((file) => name.startsWith(file)) || !/-[A-Z0-9]{8}\.(?:cjs|json)/.test(name);
    const isOld = Date.now() - statSync(path).mtimeMs > keptForMs;
    if (!isCurrent && (isOld || name.includes(".cache"))) rmSync(path);
  }
}
