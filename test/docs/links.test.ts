import { existsSync, globSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { readText, root } from "./page.ts";

const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root }).sort();

test("there are pages to look at", () => {
  expect(pages).toContain("README.md");
  expect(pages).toContain("docs/architecture.md");
});

describe.each(pages)("%s", (page) => {
  test("links only to files and headings that exist", () => {
    const links = [...withoutFences(readText(page)).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)];
    expect(links.map(([, target]) => target!).filter((target) => !leadsSomewhere(page, target))).toEqual([]);
  });

  test("labels a decision with its own number", () => {
    const labels = [...readText(page).matchAll(/\[(?:decision )?(\d{4})\]\((?:[^)]*\/)?(\d{4})-[^)]*\)/g)];
    expect(labels.filter(([, label, number]) => label !== number).map(([link]) => link)).toEqual([]);
  });

  test("names only files that exist", () => {
    const named = [...readText(page).matchAll(/`((?:src|bin|docs|scripts|test|examples|bench)\/[\w./-]*)`/g)];
    expect(named.map(([, path]) => path!).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe.each(["README.md", "docs/getting-started.md"])("%s", (page) => {
  test.each(["writ", "jobctl"])("names only commands of %s that exist", (program) => {
    const named = commandsNamed(page, program);
    expect(named.length, `no ${program} command was found, so nothing was checked`).toBeGreaterThan(0);
    expect(named.filter((name) => !commandsOf(program).includes(name))).toEqual([]);
  });
});

function leadsSomewhere(page: string, target: string): boolean {
  const [path = "", heading] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (file.startsWith("..") || !existsSync(join(root, file))) return false;
  return heading === undefined || (file.endsWith(".md") && headingsOf(file).includes(heading));
}

/** The names that a forge gives to headings. */
function headingsOf(page: string): string[] {
  const headings = [...withoutFences(readText(page)).matchAll(/^#+ (.+)$/gm)];
  return headings.map(([, text]) =>
    text!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, "");
}

/** The word after the program's name, in code only: prose may say "writ" as it likes. */
function commandsNamed(page: string, program: string): string[] {
  const text = readText(page);
  const code = [...text.matchAll(/^```[\s\S]*?^```$|`[^`\n]+`/gm)].map(([match]) => match).join("\n");
  const pattern = new RegExp(`(?<![\\w./-])(?:bin/)?${program} ([a-z][a-z-]*)`, "g");
  return [...new Set([...code.matchAll(pattern)].map(([, name]) => name!))];
}

/** A file that defines a command is named after it. */
function commandsOf(program: string): string[] {
  return globSync(`src/cli/${program}/**/*.ts`, { cwd: root })
    .filter((path) => /^export function define\(/m.test(readText(path)))
    .map((path) => basename(path, ".ts"));
}
