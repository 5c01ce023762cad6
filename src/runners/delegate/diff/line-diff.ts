/** A run of lines: both have it, only the old text has it, or only the new one. */
export type Edit = { kind: "same" | "removed" | "added"; lines: readonly string[] };

/**
 * The edits beyond which two texts count as different as a whole. The search takes time and memory with the square of
 * this; a file that has changed more is read as a new one anyway.
 */
const editsMax = 1500;

/** The shortest way from one text to the other, line by line, if it is not too long (Myers, 1986). */
export function diffLines(before: readonly string[], after: readonly string[]): Edit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const middle = diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return joined([
    { kind: "same", lines: before.slice(0, start) },
    ...middle,
    { kind: "same", lines: before.slice(before.length - end) },
  ]);
}

function diffMiddle(before: readonly string[], after: readonly string[]): Edit[] {
  const whole: Edit[] = [
    { kind: "removed", lines: before },
    { kind: "added", lines: after },
  ];
  if (before.length === 0 || after.length === 0) return whole;
  const rounds = searchWay(before, after);
  return rounds === null ? whole : walkBack(before, after, rounds);
}

/** How far each diagonal was reached after each number of edits; null if there are too many. */
function searchWay(before: readonly string[], after: readonly string[]): Int32Array[] | null {
  const max = Math.min(before.length + after.length, editsMax);
  const middle = max + 1;
  const reached = new Int32Array(2 * max + 3);
  const rounds: Int32Array[] = [];
  for (let edits = 0; edits <= max; edits++) {
    // Only these diagonals can be reached by then, and the next round needs no others.
    rounds.push(reached.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let old = nextStart(reached, middle + diagonal, {
        isLowest: diagonal === -edits,
        isHighest: diagonal === edits,
      });
      while (old < before.length && old - diagonal < after.length && before[old] === after[old - diagonal])
        old++;
      reached[middle + diagonal] = old;
      if (old >= before.length && old - diagonal >= after.length) return rounds;
    }
  }
  return null;
}

type Edge = { isLowest: boolean; isHighest: boolean };

/** Comes from the neighbour that was reached furthest: by adding a line, or by removing one. */
function nextStart(reached: Int32Array, at: number, { isLowest, isHighest }: Edge): number {
  const added = reached[at + 1] ?? 0;
  const removed = (reached[at - 1] ?? 0) + 1;
  if (isLowest) return added;
  return isHighest || removed > added ? removed : added;
}

function walkBack(
  before: readonly string[],
  after: readonly string[],
  rounds: readonly Int32Array[],
): Edit[] {
  const edits: Edit[] = [];
  let old = before.length;
  let now = after.length;
  for (let count = rounds.length - 1; count >= 0; count--) {
    const reached = rounds[count]!;
    const diagonal = old - now;
    const at = diagonal + count + 1;
    const edge = { isLowest: diagonal === -count, isHighest: diagonal === count };
    const start = count === 0 ? 0 : nextStart(reached, at, edge);
    if (old > start) edits.push({ kind: "same", lines: before.slice(start, old) });
    now -= old - start;
    old = start;
    if (count === 0) break;
    const cameByAdding =
      edge.isLowest || (!edge.isHighest && (reached[at - 1] ?? 0) + 1 <= (reached[at + 1] ?? 0));
    if (cameByAdding) edits.push({ kind: "added", lines: [after[--now]!] });
    else edits.push({ kind: "removed", lines: [before[--old]!] });
  }
  return edits.reverse();
}

/** Neighbours of one kind as one run, and what was removed before what was added in its place. */
function joined(edits: readonly Edit[]): Edit[] {
  const result: Edit[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = (): void => {
    if (removed.length > 0) result.push({ kind: "removed", lines: removed });
    if (added.length > 0) result.push({ kind: "added", lines: added });
    removed = [];
    added = [];
  };
  for (const { kind, lines } of edits) {
    if (lines.length === 0) continue;
    if (kind === "removed") removed.push(...lines);
    else if (kind === "added") added.push(...lines);
    else {
      flush();
      const last = result.at(-1);
      if (last?.kind === "same") result[result.length - 1] = { kind, lines: [...last.lines, ...lines] };
      else result.push({ kind, lines });
    }
  }
  flush();
  return result;
}
