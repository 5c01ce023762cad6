import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { root, stateDir } from "../paths.mjs";
import { libraries } from "./bundle-package.mjs";

const ofPackages = join(root, "node_modules");

/**
 * Puts the declarations of the libraries into `types/` of the package, with those of other packages that they mention:
 * the package has no dependencies, and a program that checks the types of its libraries finds everything.
 */
export function declareTypes({ packageDir }) {
  const emitted = mkdtempSync(join(stateDir, "types-"));
  try {
    emit(emitted);
    gather(emitted, join(packageDir, "types"));
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}

function emit(outDir) {
  const config = join(outDir, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rewriteRelativeImportExtensions: true,
    outDir,
    rootDir: root,
    typeRoots: [join(ofPackages, "@types")],
  };
  const files = libraries.map((name) => join(root, `src/${name}/index.ts`));
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: [], files }),
  );
  const tsc = join(ofPackages, "typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", config], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the declarations could not be made:\n${stdout}`);
}

/** Copies what can be reached from the entry points; each import is written as the relative path of its copy. */
function gather(emitted, typesDir) {
  const copyOf = (file) =>
    file.startsWith(emitted)
      ? join(typesDir, relative(join(emitted, "src"), file))
      : join(typesDir, "packages", relative(ofPackages, file));
  const waiting = libraries.map((name) => join(emitted, `src/${name}/index.d.ts`));
  const seen = new Set(waiting);
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const text = readFileSync(file, "utf8").replaceAll(
      /((?:\bfrom|\bimport) "|\bimport\(")([^"\s]+)(")/g,
      (whole, before, name, after) => {
        const target = resolve(file, name);
        if (target === undefined) return whole;
        if (!seen.has(target)) {
          seen.add(target);
          waiting.push(target);
        }
        const path = relative(dirname(copyOf(file)), copyOf(target)).replace(/\.d\.ts$/, ".js");
        return `${before}${path.startsWith(".") ? path : `./${path}`}${after}`;
      },
    );
    mkdirSync(dirname(copyOf(file)), { recursive: true });
    writeFileSync(copyOf(file), text.replaceAll(/^\/\/# sourceMappingURL=.*$/gm, ""));
  }
}

/** The declaration that an import means; undefined for Node's own modules, and for a package in an example. */
function resolve(file, name) {
  if (name.startsWith("node:") || builtinModules.includes(name) || name.startsWith("writ/")) return undefined;
  const found = name.startsWith(".") ? join(dirname(file), name).replace(/\.[jt]s$/, ".d.ts") : typesOf(name);
  if (!existsSync(found)) throw new Error(`${file} imports ${name}, and there is no ${found}`);
  return found;
}

function typesOf(name) {
  const [scope, ...rest] = name.split("/");
  const words = scope.startsWith("@") ? 2 : 1;
  const packageName = name.split("/").slice(0, words).join("/");
  const inner = rest.slice(words - 1).join("/");
  const folder = join(ofPackages, packageName);
  const { exports, types } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entry = exports?.[inner === "" ? "." : `./${inner}`];
  const path = entry?.import?.types ?? entry?.import ?? entry?.types ?? types;
  return join(folder, path.replace(/\.js$/, ".d.ts"));
}
