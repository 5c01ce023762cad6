import { redactText } from "../../../runtime/log/redact.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

/** What would change in a file, as the lines of a diff: from the first line that differs to the last one. */
export function showChange(
  path: string,
  { before, after }: { before: string | null; after: string },
): string {
  const old = before === null ? [] : linesOf(before);
  const now = linesOf(after);
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  let sameAtEnd = 0;
  const most = Math.min(old.length, now.length) - same;
  while (sameAtEnd < most && old.at(-1 - sameAtEnd) === now.at(-1 - sameAtEnd)) sameAtEnd++;
  const marked = (mark: string, lines: string[]) =>
    lines.slice(same, lines.length - sameAtEnd).map((line) => `${mark}${neutraliseLine(line)}\n`);
  const head = `--- ${before === null ? "/dev/null" : path}\n+++ ${path}\n@@ line ${same + 1} @@\n`;
  return redactText(head + marked("-", old).join("") + marked("+", now).join(""));
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
