import { existsSync, globSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { isGenerated } from "../architecture/rules.ts";
import { readText, root } from "./page.ts";

/** A decision note in docs/adr. `files` are the paths, or folders that end with a slash, to which it applies. */
export type Decision = {
  file: string;
  number: string;
  title: string;
  acceptedOn: string;
  replacedBy: string | null;
  isReplacedInPart: boolean;
  links: string[];
  files: string[];
};

const head =
  /^# (\d{4}): (.+)\n\nAccepted on (\d{4}-\d\d-\d\d)\.(?:\s+Replaced (in part )?by\s+\[(\d{4})\]\(\5-[^)]+\)[.:])?/;

export function readDecisions(): Decision[] {
  return globSync("docs/adr/[0-9]*.md", { cwd: root }).sort().map(readDecision);
}

function readDecision(path: string): Decision {
  const text = readText(path);
  const match = head.exec(text);
  if (match === null)
    throw new Error(`${path} does not begin with "# NUMBER: title" and "Accepted on DATE."`);
  const [, number, title, acceptedOn, inPart, replacedBy] = match;
  const [, files = ""] = /\n\n\*\*Files\.\*\* ([^*]+)\.\n$/.exec(text) ?? [];
  return {
    file: basename(path),
    number: number!,
    title: title!,
    acceptedOn: acceptedOn!,
    replacedBy: replacedBy ?? null,
    isReplacedInPart: inPart !== undefined,
    links: [...text.matchAll(/\]\((\d{4})-/g)].map(([, linked]) => linked!),
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, listed]) => listed!),
  };
}

/** Every file of ours that may name a decision. */
export function sourcesOfOurs(): string[] {
  const rooms = "{src,launcher,scripts,bench,proto,python,deploy,test,examples,templates}";
  const names = `${rooms}/**/{Dockerfile,*.{ts,tsx,js,mjs,cjs,c,h,sql,py,yaml,sh,proto}}`;
  return globSync(names, { cwd: root, exclude: (name) => name.includes("node_modules") })
    .filter((path) => !isGenerated(path) && statSync(join(root, path)).isFile())
    .sort();
}

/** The numbers of the decisions that a file names anywhere. */
export function namedAnywhere(path: string): string[] {
  return numbersIn(readText(path));
}

/** Those that it names where a reader looks first: in a comment that begins at the start of a line. */
export function namedInHead(path: string): string[] {
  const comments = readText(path).matchAll(/^(?:\/\*[\s\S]*?\*\/|\/\/.*|#.*|--.*|"""[\s\S]*?""")/gm);
  return [...comments].flatMap(([comment]) => numbersIn(comment));
}

function numbersIn(text: string): string[] {
  return [...text.matchAll(/\bADR[\s*/#]+(\d{4})\b/g)].map(([, number]) => number!);
}

/** Whether a path of a note, which may be a folder, means this file. */
export function covers(listed: string, path: string): boolean {
  return listed.endsWith("/") ? path.startsWith(listed) : path === listed;
}

/** Whether a path of a note exists, and is a folder only if it ends with a slash. */
export function isThere(listed: string): boolean {
  const place = join(root, listed);
  return existsSync(place) && statSync(place).isDirectory() === listed.endsWith("/");
}
