import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { build } from "esbuild";
import { bundleDir, bundleManifest, root } from "./paths.mjs";

// Bundles jobctl into a few files, each loaded only by the commands that need it. Run by set-up, on the pinned Node.
const outDir = join(bundleDir, "chunks");
// Without its list of sources the old bundle is not used, so nobody meets a half of each.
rmSync(bundleManifest, { force: true });
rmSync(join(bundleDir, "cache"), { recursive: true, force: true });
mkdirSync(bundleDir, { recursive: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["src/cli/jobctl.ts"],
  outdir: outDir,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node26",
  legalComments: "none",
  metafile: true,
  logLevel: "silent",
  plugins: [yamlOnDemand()],
  // The program finds its checkout by where its source lies, and that is not here.
  define: { "import.meta.url": "__sourceUrl" },
  banner: { js: banner() },
});
const made = Object.keys(metafile.outputs).map((path) => basename(path));
for (const name of readdirSync(outDir)) if (!made.includes(name)) rmSync(join(outDir, name));
const sources = Object.keys(metafile.inputs).filter((path) => path.startsWith("src/"));
// Last, because it says that the rest is complete.
writeFileSync(
  bundleManifest,
  JSON.stringify([...sources, "package.json", "package-lock.json"].sort().map(describe)),
);

/** How a file looks from outside: whoever changes its content changes this too. */
function describe(path) {
  const { size, mtimeMs } = statSync(join(root, path));
  return [path, size, Math.floor(mtimeMs / 1000)];
}

/** Packages that are not modules themselves ask for `require`. */
function banner() {
  const source = JSON.stringify(join(relative(outDir, root), "src/cli/jobctl.ts"));
  return [
    'import{createRequire as __createRequire}from"node:module";',
    "const require=__createRequire(import.meta.url);",
    `const __sourceUrl=new URL(${source},import.meta.url).href;`,
  ].join("");
}

/**
 * The settings hand on the reader of YAML, and a bundler loads what is handed on, used or not. jobctl itself fetches
 * the reader when there is a file to read, so here the settings hand on nothing.
 */
function yamlOnDemand() {
  const namespace = "left-out";
  return {
    name: "yaml-on-demand",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/yaml-file\.ts$/ }, ({ importer }) =>
        importer === join(root, "src/runtime/settings.ts") ? { path: "yaml-file", namespace } : undefined,
      );
      onLoad({ filter: /./, namespace }, () => ({ contents: "export const loadYamlFile = undefined;" }));
    },
  };
}
