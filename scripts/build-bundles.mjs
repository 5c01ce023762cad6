import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { build } from "esbuild";
import {
  childProcessOnDemand,
  oneLanguage,
  placesOfSources,
  replaceSource,
  threadSources,
} from "./bundle-plugins.mjs";
import { describeSource } from "./is-fresh.mjs";
import { bundleDir, manifestOf, programs, root, sourceOf } from "./paths.mjs";

// Bundles each program, and each thread that it starts, into one file. Set-up runs this on the pinned Node.
// Needed by few commands, which load them from node_modules.
const leftOut = ["@modelcontextprotocol/server", "@peculiar/x509", "mqtt", "nodemailer", "pg"];
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
    plugins: [readReference(), places(), childProcessOnDemand(), oneLanguage()],
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
  return replaceSource(
    "src/hub/http/reference/load-reference.ts",
    `export function loadReference() {
      const file = require("node:path").join(__dirname, ${JSON.stringify(reference.file)});
      return JSON.parse(require("node:fs").readFileSync(file, "utf8"));
    }`,
  );
}

function places() {
  const pathOf = (to) =>
    `require("node:path").resolve(__dirname, ${JSON.stringify(relative(bundleDir, to))})`;
  const urlOf = (to) => `require("node:url").pathToFileURL(${pathOf(to)})`;
  return placesOfSources({
    pathOf,
    urlOf,
    startedBy(source) {
      const thread = threads.get(relative(root, source));
      return thread === undefined ? undefined : urlOf(join(bundleDir, thread.file));
    },
  });
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
