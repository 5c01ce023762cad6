import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";
import {
  childProcessOnDemand,
  oneLanguage,
  placesOfSources,
  processSources,
  replaceSource,
  threadSources,
} from "../bundle-plugins.mjs";
import { programs, root, sourceOf } from "../paths.mjs";
import { standIns } from "./older-node.mjs";

/** What programs import: `writ/client` and so on. */
export const libraries = ["client", "worker", "jobs", "sandbox", "registry", "testing"];

/** Those that cannot work without databases, and the first Node whose module for them does what they need. */
const ofNewNode = { registry: 26, testing: 24 };

const startedByFile = [...threadSources, ...processSources];

const nameOf = (source) => source.replace(/^.*\//, "").replace(/\.ts$/, "");

/**
 * Bundles libraries and programs together into `lib/` of the package: what several of them use is in a file of its own,
 * so that an error of one library is an instance of the class that another one exports. Returns esbuild's metafile.
 * Why: ADR 0068.
 */
export async function bundlePackage({ packageDir, version }) {
  const lib = join(packageDir, "lib");
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([
      ...libraries.map((name) => [name, `src/${name}/index.ts`]),
      ...programs.map((name) => [`program-${name}`, sourceOf(name)]),
      ...startedByFile.map((source) => [nameOf(source), source]),
    ]),
    outdir: lib,
    chunkNames: "shared-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Otherwise readable, so that the stack of an error is.
    minifySyntax: true,
    inject: [join(root, "scripts/pack/older-node.mjs")],
    define: standIns,
    legalComments: "none",
    metafile: true,
    logLevel: "silent",
    plugins: [
      replaceSource("src/runtime/built-files.ts", builtFiles),
      replaceSource("src/hub/http/reference/load-reference.ts", loadReference),
      places(),
      versionOnly(version),
      loadedOnDemand(),
      childProcessOnDemand(),
      sqliteWhenRun(),
      oneLanguage(),
    ],
  });
  for (const file of Object.keys(metafile.outputs)) giveRequire(join(root, file));
  for (const [name, major] of Object.entries(ofNewNode)) checkNode(lib, name, major);
  await writeReference(packageDir, version);
  return metafile;
}

/** Both launchers are in the package; the host decides which. */
const builtFiles = `import { fileURLToPath } from "node:url";
const place = (path) => fileURLToPath(new URL(path, import.meta.url));
export const builtFiles = {
  launcher: place("../built/writ-launcher-" + process.platform + "-" + process.arch),
  dashboard: place("../built/dashboard"),
  docs: place("../docs"),
};
export const buildAdvice = "start the worker again";`;

const loadReference = `import { readFileSync } from "node:fs";
export function loadReference() {
  return JSON.parse(readFileSync(new URL("../built/reference.json", import.meta.url), "utf8"));
}`;

async function writeReference(packageDir, version) {
  const { makeReference } = await import("../../src/hub/http/reference/reference-files.ts");
  writeFileSync(join(packageDir, "built/reference.json"), JSON.stringify(makeReference(version)));
}

/** Every bundle is directly in `lib/`, and the files that sources look for are in `src/` of the package, as in the checkout. */
function places() {
  const at = (place) => `new URL(${JSON.stringify(place)}, import.meta.url)`;
  const urlOf = (source) => at(`../${relative(root, source)}`);
  return placesOfSources({
    head: 'import { fileURLToPath as pathOfUrl } from "node:url";',
    urlOf,
    pathOf: (source) => `pathOfUrl(${urlOf(source)})`,
    startedBy(source) {
      const file = relative(root, source);
      return startedByFile.includes(file) ? at(`./${nameOf(file)}.js`) : undefined;
    },
  });
}

/** Programs read nothing but the version from our package.json. */
function versionOnly(version) {
  return {
    name: "version-only",
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`^${root}/package\\.json$`) }, () => ({
        contents: JSON.stringify({ version }),
        loader: "json",
      }));
    },
  };
}

/** What we use of packages that are loaded on demand, or true for one that is an ES module. */
const onDemand = {
  mqtt: ["connect"],
  nodemailer: ["createTransport"],
  yaml: ["parseDocument"],
  "@peculiar/x509": true,
};

/**
 * Node finds out which names a CommonJS package exports, and the bundler does not: imported on demand, such a package would
 * have nothing but a default.
 */
function loadedOnDemand() {
  const namespace = "loaded-on-demand";
  return {
    name: namespace,
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /^[@a-z]/ }, ({ kind, path, resolveDir }) => {
        if (kind !== "dynamic-import" || resolveDir.includes("/node_modules/")) return undefined;
        const names = onDemand[path];
        if (names === undefined)
          return { errors: [{ text: `add ${path} to the packages that are loaded on demand` }] };
        return names === true
          ? resolve(`${path}/build/x509.es.js`, { kind: "import-statement", resolveDir: root })
          : { path, namespace };
      });
      onLoad({ filter: /./, namespace }, ({ path }) => ({
        contents: `import all from "${path}"; export const { ${onDemand[path]} } = all;`,
        resolveDir: root,
      }));
    },
  };
}

/**
 * A module that Node does not have fails before any line of a library has run. So it is asked for when the first database is
 * opened: a function worker and `--help` open none.
 */
function sqliteWhenRun() {
  const namespace = "sqlite-when-run";
  return {
    name: namespace,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^node:sqlite$/ }, ({ path }) => ({ path, namespace }));
      onLoad({ filter: /./, namespace }, () => ({
        contents: `import { createRequire } from "node:module";
export function DatabaseSync(...args) {
  const { DatabaseSync: Real } = createRequire(import.meta.url)("node:sqlite");
  return new Real(...args);
}`,
      }));
    },
  };
}

/** The first import of a library that an older Node cannot run: what it throws is the error that the program gets. */
function checkNode(lib, name, major) {
  const check = `if (Number(process.versions.node.split(".")[0]) < ${major})
  throw new Error("writ/${name} needs Node ${major} or newer; this is Node " + process.versions.node + " (" + process.execPath + ")");
`;
  writeFileSync(join(lib, `node-for-${name}.js`), check);
  const file = join(lib, `${name}.js`);
  writeFileSync(file, `import "./node-for-${name}.js";\n${readFileSync(file, "utf8")}`);
}

/** Packages that are not ES modules call `require`, which an ES module has to make for itself. */
function giveRequire(file) {
  const text = readFileSync(file, "utf8");
  if (!text.includes("typeof require")) return;
  const head =
    'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);\n';
  writeFileSync(file, head + text);
}
