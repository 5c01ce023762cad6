import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { withOldSources } from "./old-sources.ts";

// Makes the worker of version 0.1 anew from git: `node_modules/.writ/node test/compat/make-fixtures.mjs`. It is in the
// repository, because a test must not depend on history or on what npm installs today.
const commit = "437f1bc";
const fixtures = join(import.meta.dirname, "fixtures");

await withOldSources(commit, bundleWorker);

/** One file that is both the worker and, started as a thread, its heartbeat. */
async function bundleWorker(dir) {
  copyFileSync(join(import.meta.dirname, "old-worker-entry.mjs"), join(dir, "entry.mjs"));
  const { outputFiles } = await build({
    absWorkingDir: dir,
    entryPoints: ["entry.mjs"],
    bundle: true,
    write: false,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node26",
    legalComments: "none",
    banner: { js: 'const ownUrl=require("node:url").pathToFileURL(__filename).href;' },
    define: { "import.meta.url": "ownUrl", "import.meta.dirname": "__dirname" },
    plugins: [threadInSameFile(), oneLanguage()],
  });
  writeFileSync(join(fixtures, `worker-${commit}.cjs.gz`), gzipSync(outputFiles[0].contents, { level: 9 }));
}

function threadInSameFile() {
  return {
    name: "thread-in-same-file",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/worker\/heartbeat\.ts$/ }, ({ path }) => ({
        loader: "ts",
        contents: readFileSync(path, "utf8").replaceAll(
          /new URL\("\.\/heartbeat-thread\.[tj]s", import\.meta\.url\)/g,
          "new URL(import.meta.url)",
        ),
      }));
    },
  };
}

/** zod brings its messages in sixty languages. */
function oneLanguage() {
  return {
    name: "one-language",
    setup({ onLoad }) {
      onLoad({ filter: /\/zod\/.*\/locales\/index\.js$/ }, () => ({ contents: "export {};" }));
    },
  };
}
