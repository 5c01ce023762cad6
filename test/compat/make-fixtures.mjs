import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

// Makes the fixtures of this folder anew from git: `node_modules/.writ/node test/compat/make-fixtures.mjs`. They are in
// the repository, because a test must not depend on history or on what npm installs today.
const commit = "437f1bc";
const root = join(import.meta.dirname, "../..");
const fixtures = join(import.meta.dirname, "fixtures");

const dir = mkdtempSync(join(tmpdir(), "writ-old-"));
try {
  checkOut();
  await bundleWorker();
  fillStore();
} finally {
  rmSync(dir, { recursive: true });
}

/** The old sources, with the packages of their own lock file. */
function checkOut() {
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 28 });
  execFileSync("tar", ["-x", "-C", dir], { input: archive });
  const lockOf = (place) => readFileSync(join(place, "package-lock.json"), "utf8");
  if (lockOf(dir) === lockOf(root)) symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  else execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: dir, stdio: "inherit" });
}

/** One file that is both the worker and, started as a thread, its heartbeat. */
async function bundleWorker() {
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

/** A database as the old store left it, with jobs that wait. */
function fillStore() {
  copyFileSync(join(import.meta.dirname, "old-store-entry.mjs"), join(dir, "fill.mjs"));
  execFileSync(join(root, "node_modules/.writ/node"), ["fill.mjs", "store.sqlite"], {
    cwd: dir,
    stdio: "inherit",
  });
  const database = readFileSync(join(dir, "store.sqlite"));
  writeFileSync(join(fixtures, `store-${commit}.sqlite.gz`), gzipSync(database, { level: 9 }));
}
