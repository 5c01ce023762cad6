import { dirname, join } from "node:path/posix";
import { blankOut } from "./blank-out.ts";
import type { SourceFile } from "./find-offences.ts";
import { growing, isForTests, isGenerated, testedOnly } from "./rules.ts";

/**
 * Exports of `src/` that no other file imports, and those that only tests import although their own file has no use
 * for them. What a package's entry file exports is for others.
 */
export function findUnusedExports(files: SourceFile[], entryFiles: readonly string[]): string[] {
  const codes = files.map(({ path, text }) => ({ path, code: blankOut(text, "without-comments") }));
  const importers = importersOf(codes);
  return codes.flatMap(({ path, code }) => {
    if (!path.startsWith("src/") || isGenerated(path) || isForTests(path) || entryFiles.includes(path))
      return [];
    if (importers.has(`${path} *`)) return [];
    const isGrowing = growing.some((folder) => path.startsWith(folder));
    return exportsOf(code).flatMap((name) => {
      const by = importers.get(`${path} ${name}`) ?? [];
      if (by.length === 0) return [`${path} exports ${name}, which no other file imports`];
      const isUsedInside = code.match(new RegExp(`\\b${name}\\b`, "g"))!.length > 1;
      if (isUsedInside || !by.every(isForTests)) return [];
      if (isGrowing || testedOnly.includes(`${path} ${name}`)) return [];
      return [`${path} exports ${name}, which only tests use`];
    });
  });
}

type Code = { path: string; code: string };

/** The importers of each export, by `file name`; a name of `*` stands for a whole file. */
function importersOf(codes: Code[]): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const { path, code } of codes) {
    const note = (specifier: string, name: string): void => {
      const imported = `${join(dirname(path), specifier)} ${name}`;
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
    };
    for (const [, names, specifier] of code.matchAll(
      /\b(?:import|export)\s+(?:type\s+)?(\{[^}]*\}|\*[^"]*?)\s*from\s+"(\.[^"]+)"/g,
    )) {
      for (const name of names!.startsWith("*") ? ["*"] : namesIn(names!)) note(specifier!, name);
    }
    for (const [, specifier] of code.matchAll(/\bimport\(\s*"(\.[^"]+)"\s*\)/g)) note(specifier!, "*");
  }
  return importers;
}

function exportsOf(code: string): string[] {
  const declared = code.matchAll(
    /^export\s+(?:async\s+)?(?:function\*?|const|let|class|type|interface)\s+(\w+)/gm,
  );
  const listed = code.matchAll(/^export\s+(?:type\s+)?(\{[^}]*\})/gm);
  return [
    ...Array.from(declared, ([, name]) => name!),
    ...Array.from(listed, ([, names]) => namesIn(names!, "last")).flat(),
  ];
}

/** The names in `{ a, type B, c as d }`: as the other file calls them (a, B, c), or as they are given out (a, B, d). */
function namesIn(list: string, which: "first" | "last" = "first"): string[] {
  const names = list.slice(1, -1).split(",");
  return names.flatMap((name) => {
    const words = name
      .trim()
      .replace(/^type\s+/, "")
      .split(/\s+as\s+/);
    const chosen = which === "first" ? words[0]! : words.at(-1)!;
    return chosen === "" ? [] : [chosen];
  });
}
