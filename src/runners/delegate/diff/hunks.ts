import { diffLines, type Edit } from "./line-diff.ts";

const contextLines = 3;
const noLineBreak = "\\ No newline at end of file\n";

/** The hunks of a unified diff. Texts are Latin-1, so that every byte is one character and comes out as it went in. */
export function hunksOf(before: string, after: string): string {
  const edits = diffLines(linesOf(before), linesOf(after));
  return groupsOf(edits).map(hunkText).join("");
}

/** Each with its line break; only the last may have none. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

type Hunk = { oldStart: number; newStart: number; edits: Edit[] };

/** Edits with the lines around them; those that are close to one another share a hunk. */
function groupsOf(edits: readonly Edit[]): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  const at = { old: 1, new: 1 };
  for (const [index, edit] of edits.entries()) {
    const { length } = edit.lines;
    if (edit.kind === "same") {
      const isLast = index === edits.length - 1;
      const joins = hunk !== undefined && !isLast && length <= 2 * contextLines;
      if (joins) hunk!.edits.push(edit);
      else {
        hunk?.edits.push({ kind: "same", lines: edit.lines.slice(0, contextLines) });
        hunk = undefined;
      }
    } else {
      if (hunk === undefined) {
        hunk = beginHunk(edits[index - 1], at);
        hunks.push(hunk);
      }
      hunk.edits.push(edit);
    }
    if (edit.kind !== "added") at.old += length;
    if (edit.kind !== "removed") at.new += length;
  }
  return hunks;
}

function beginHunk(previous: Edit | undefined, at: { old: number; new: number }): Hunk {
  const lines = previous?.kind === "same" ? previous.lines.slice(-contextLines) : [];
  const edits: Edit[] = lines.length === 0 ? [] : [{ kind: "same", lines }];
  return { oldStart: at.old - lines.length, newStart: at.new - lines.length, edits };
}

const signs = { same: " ", removed: "-", added: "+" } as const;

function hunkText({ oldStart, newStart, edits }: Hunk): string {
  const count = (without: Edit["kind"]): number =>
    edits.reduce((sum, { kind, lines }) => (kind === without ? sum : sum + lines.length), 0);
  const head = `@@ -${range(oldStart, count("added"))} +${range(newStart, count("removed"))} @@\n`;
  const body = edits.flatMap(({ kind, lines }) =>
    lines.map((line) => `${signs[kind]}${line.endsWith("\n") ? line : `${line}\n${noLineBreak}`}`),
  );
  return head + body.join("");
}

/** An empty range is named by the line before it. */
function range(start: number, count: number): string {
  if (count === 1) return String(start);
  return `${count === 0 ? start - 1 : start},${count}`;
}
