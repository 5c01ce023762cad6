import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

// What our bundles have in common: those of set-up and those of the package.

/** Started by their file as threads, so each is a bundle of its own. A test finds one that is missing here. */
export const threadSources = [
  "src/store/sqlite/thread/thread.ts",
  "src/store/sqlite/thread/reader-thread.ts",
  "src/hub/database/list-thread.ts",
  "src/worker/hub/heartbeat-thread.ts",
];

/** Started by their file as processes: in a checkout from the source, in the package from a bundle. */
export const processSources = ["src/store/sqlite/database/quick-check.ts"];

/**
 * Sources find other files by import.meta. In a bundle this still means the source's place: `urlOf` and `pathOf` write it as
 * an expression, and `head` is what those need. A program that is started by its file is a bundle of its own, which
 * `startedBy` writes as a URL.
 */
export function placesOfSources({ head = "", urlOf, pathOf, startedBy }) {
  const places = /new URL\("(\.[\w./-]+\.ts)", import\.meta\.url\)|import\.meta\.(?:url|dirname)/g;
  const withPlaces = (text, path) =>
    text.replaceAll(places, (found, file) => {
      if (found === "import.meta.url") return `${urlOf(path)}.href`;
      if (found === "import.meta.dirname") return pathOf(dirname(path));
      return startedBy(join(dirname(path), file)) ?? urlOf(join(dirname(path), file));
    });
  return {
    name: "places-of-sources",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        if (!text.includes("import.meta")) return undefined;
        return { loader: "ts", contents: head + withPlaces(text, path) };
      });
    },
  };
}

/** Commander loads node:child_process to start subcommands as programs, which ours never do. */
export function childProcessOnDemand() {
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
export function oneLanguage() {
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

/** A source that the bundle has another text for. */
export function replaceSource(path, contents) {
  return {
    name: `replace ${path}`,
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`/${path.replaceAll(".", "\\.")}$`) }, () => ({ contents, loader: "js" }));
    },
  };
}
