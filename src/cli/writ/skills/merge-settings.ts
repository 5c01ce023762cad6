import { WritError } from "../../../core/errors.ts";

/**
 * A text of JSON with a value at these keys. Everything else stays as it is, in its order and with its indentation. A file
 * with comments is refused: writing it again would lose them.
 */
export function mergeJson(
  path: string,
  text: string | null,
  { keys, value }: { keys: readonly string[]; value: object },
): string {
  const settings = text === null || text.trim() === "" ? {} : parse(path, text);
  const [last = "", ...above] = [...keys].reverse();
  let at = settings;
  for (const key of above.reverse()) {
    const next = at[key] ?? {};
    if (!isRecord(next)) throw unlike(path, `${key} is not an object`);
    at[key] = next;
    at = next;
  }
  at[last] = value;
  const merged = `${JSON.stringify(settings, null, indentOf(text))}\n`;
  return text !== null && isSame(text, merged) ? text : merged;
}

function parse(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unlike(path, "it is not plain JSON (perhaps it has comments)");
  }
  if (!isRecord(value)) throw unlike(path, "it is not an object");
  return value;
}

function unlike(path: string, why: string): WritError {
  return new WritError("CONFIG_INVALID", `${path}: ${why}, so it is left as it is`, {
    advice: "add the server by hand, as docs/mcp.md shows it",
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A file that is written another way but means the same needs no change. */
function isSame(text: string, merged: string): boolean {
  return text.trim() !== "" && JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(merged));
}

function indentOf(text: string | null): string {
  if (text === null || text.trim() === "") return "  ";
  return /^\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? (text.includes("\n") ? "  " : "");
}

/** A text of TOML with this table, instead of one of that name and its own tables, or at the end. */
export function mergeToml(
  text: string | null,
  { table, lines }: { table: string; lines: readonly string[] },
): string {
  const wanted = `[${table}]\n${lines.join("\n")}\n`;
  if (text === null || text.trim() === "") return wanted;
  const all = text.endsWith("\n") ? text : `${text}\n`;
  const rows = all.split("\n").slice(0, -1);
  const start = rows.findIndex((row) => headerOf(row) === table);
  if (start === -1) return `${all}\n${wanted}`;
  const isOwn = (name: string) => name === table || name.startsWith(`${table}.`);
  const after = rows.findIndex((row, index) => {
    const name = index > start ? headerOf(row) : null;
    return name !== null && !isOwn(name);
  });
  const before = rows.slice(0, start);
  const rest = after === -1 ? [] : ["", ...rows.slice(after)];
  return [...before, ...wanted.trimEnd().split("\n"), ...rest, ""].join("\n");
}

function headerOf(row: string): string | null {
  return /^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$/.exec(row)?.[1] ?? null;
}
