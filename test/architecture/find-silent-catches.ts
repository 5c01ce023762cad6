import type { SourceFile } from "./find-offences.ts";

/**
 * Places where an error disappears without a reason: a `catch` that drops the error, or a `.catch` that only replaces it.
 * The reason is a comment in the line above, in the same line, or first in the block. A block that throws needs none,
 * because its error says what went wrong.
 */
export function findSilentCatches({ path, text }: SourceFile): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (!drops.test(line) || line.includes("//") || isComment(lines[index - 1])) return [];
    const first = lines[index + 1]?.trim() ?? "";
    const isExplained = dropsInBlock.test(line) && (isComment(first) || first.startsWith("throw "));
    return isExplained ? [] : [`${path}:${index + 1} drops an error and gives no reason`];
  });
}

const dropsInBlock = /\bcatch \{/;
const drops = /\bcatch \{|\.catch\((?:async )?\(\) => (?:\{\s*\}|undefined|null|false|true|""|\[\])\)/;

function isComment(line = ""): boolean {
  return line.trim().startsWith("//");
}
