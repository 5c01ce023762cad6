import { builtinModules } from "node:module";
import { dirname, join } from "node:path/posix";
import { blankOut } from "./blank-out.ts";
import { bannedTexts, innerWalls, isGenerated, isTest, lineCountMax, rooms, strangers } from "./rules.ts";

export interface SourceFile {
  /** From the root of the checkout, with forward slashes. */
  path: string;
  text: string;
}

/** Every breach of the rules in the given files, one line each, naming the file, the line and the import. */
export function findOffences(files: SourceFile[]): string[] {
  return files.flatMap((file) => [...findBadImports(file), ...findBannedTexts(file), ...findOverlong(file)]);
}

function findBadImports(file: SourceFile): string[] {
  const room = roomOf(file.path);
  if (room === undefined || rooms[room] === undefined) return [`${file.path} lies in no room of the table`];

  return importsOf(file.text).flatMap(({ specifier, line }) => {
    const target = specifier.startsWith(".") ? join(dirname(file.path), specifier) : undefined;
    const reason =
      target === undefined ? whyNotPackage(file.path, room, specifier) : whyNotFile(file.path, room, target);
    return reason === null ? [] : [`${file.path}:${line} imports ${target ?? specifier}: ${reason}`];
  });
}

function whyNotFile(path: string, room: string, target: string): string | null {
  const targetRoom = roomOf(target);
  if (strangers.includes(room) && strangers.includes(targetRoom ?? "") && targetRoom !== room) {
    return `${room} and ${targetRoom} never import each other`;
  }
  if (isTest(path)) return null;

  const wall = innerWalls.find(
    ({ from, but = [], never }) =>
      path.startsWith(from) &&
      !but.some((start) => path.startsWith(start)) &&
      never.some((to) => target.startsWith(to)),
  );
  if (wall !== undefined) return `${wall.from} never imports ${wall.never.join(" or ")}`;
  if (targetRoom === room) return null;

  const { imports, doors = [], packages } = rooms[room]!;
  // The version stands in the manifest and nowhere else; rooms that also run in a browser are told it.
  if (target === "package.json" && packages === undefined) return null;
  if (targetRoom === undefined) return "it lies outside the rooms";
  if (imports.includes(targetRoom) || doors.includes(target)) return null;
  const allowed = [...imports, ...doors].join(", ");
  return `${room} may import only ${allowed || "itself"}`;
}

function whyNotPackage(path: string, room: string, specifier: string): string | null {
  if (isTest(path) || path.endsWith(".config.ts")) return null;
  const { packages } = rooms[room]!;
  if (packages === "none") return `${room} imports no package`;
  const isBuiltin = specifier.startsWith("node:") || builtinModules.includes(specifier);
  if (packages === "built-in" && !isBuiltin) return `${room} imports no package but Node's own`;
  return packages === "browser" && isBuiltin ? `${room} has to run in a browser` : null;
}

function findBannedTexts({ path, text }: SourceFile): string[] {
  if (isGenerated(path)) return [];
  return bannedTexts.flatMap(({ name, seen, pattern, exempt }) => {
    if (exempt?.(path)) return [];
    return [...blankOut(text, seen).matchAll(pattern)].map((m) => `${path}:${lineAt(text, m)} has: ${name}`);
  });
}

function findOverlong({ path, text }: SourceFile): string[] {
  const lineCount = text.trimEnd().split("\n").length;
  if (isGenerated(path) || lineCount <= lineCountMax) return [];
  return [`${path} has ${lineCount} lines, more than ${lineCountMax}`];
}

/** Static, dynamic and type imports, re-exports, and the files that worker threads are started from. */
function importsOf(text: string): { specifier: string; line: number }[] {
  const pattern =
    /\bfrom\s*["']([^"'\n]+)["']|\bimport\s*\(?\s*["']([^"'\n]+)["']|\bnew\s+URL\(\s*["'](\.[^"'\n]+)["']\s*,\s*import\.meta/g;
  return [...blankOut(text, "without-comments").matchAll(pattern)].map((m) => ({
    specifier: (m[1] ?? m[2] ?? m[3])!,
    line: lineAt(text, m),
  }));
}

function lineAt(text: string, match: RegExpExecArray): number {
  return text.slice(0, match.index + match[0].search(/\S/)).split("\n").length;
}

function roomOf(path: string): string | undefined {
  if (path.startsWith("dashboard/")) return "dashboard";
  return /^src\/([^/]+)\//.exec(path)?.[1];
}
