import { globSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { loadPrograms, pathOf } from "./command-reference.ts";
import { readText, root } from "./page.ts";

const pages = globSync(["*.md", "docs/*.md"], { cwd: root, exclude: ["CHANGELOG.md"] }).sort();

test("C11: every command that a page shows exists, with its options", async () => {
  const programs = await loadPrograms();
  const lines = pages.flatMap((page) => commandLines(readText(page)).map((line) => ({ page, line })));
  expect(lines.length).toBeGreaterThan(50);
  const problems = lines.flatMap(({ page, line }) => {
    const problem = problemOf(programs, line);
    return problem === undefined ? [] : [`${page}: ${line}: ${problem}`];
  });
  expect(problems).toEqual([]);
});

test("a command or an option that does not exist is found", async () => {
  const programs = await loadPrograms();
  expect(problemOf(programs, "jobctl start ls / -lah --cpu=500m")).toBeUndefined();
  expect(problemOf(programs, "jobctl dance ID")).toBe("there is no jobctl dance");
  expect(problemOf(programs, "jobctl status ID --loud")).toBe("there is no --loud");
  expect(problemOf(programs, "writ tokens forge")).toBe("there is no writ tokens forge");
});

/** Lines of code blocks, and code within a sentence, that begin with one of the programs. */
function commandLines(text: string): string[] {
  const unwrapped = text.replaceAll("\\\n", " ");
  const block = /^(?:\$ )?(?:\w+=\S* )*(?:bin\/|npx )?((?:jobctl|writ|writ-agent) [^\n#|]*)/gm;
  const inline = /`(?:bin\/)?((?:jobctl|writ|writ-agent) [^`\n]+)`/g;
  const blocks = [...unwrapped.matchAll(/```(?:sh|console)\n([\s\S]*?)```/g)].flatMap(([, code = ""]) => [
    ...code.matchAll(block),
  ]);
  return [...blocks, ...unwrapped.matchAll(inline)].map((match) => match[1]!.trim());
}

function problemOf(programs: readonly Command[], line: string): string | undefined {
  const [name, ...words] = line.split(/ -- | '/)[0]!.split(/\s+/);
  const program = programs.find((each) => each.name() === name)!;
  let command = program;
  const takesValue = new Map(flagsOf(program));
  for (let at = 0; at < words.length; at++) {
    const [word = "", value] = words[at]!.split("=");
    if (word.startsWith("--") && word.length > 2) {
      if (!takesValue.has(word)) return `there is no ${word}`;
      if (takesValue.get(word) && value === undefined) at++;
      continue;
    }
    if (command.commands.length === 0 || !/^[a-z-]+$/.test(word)) continue;
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (next === undefined) return `there is no ${pathOf(command)} ${word}`;
    command = next;
    for (const [flag, hasValue] of flagsOf(command)) takesValue.set(flag, hasValue);
  }
  return undefined;
}

/** The flags of a command, each with whether a value follows it. */
function flagsOf(command: Command): [string, boolean][] {
  const flags = command.options.flatMap(({ short, long, required }) =>
    [short, long, long?.replace("--no-", "--")].map((flag): [string, boolean] => [flag ?? "", required]),
  );
  return [...flags, ["--help", false]];
}
