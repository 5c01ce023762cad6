/** More changes than these make another word, not a mistyped one. */
const changesMax = 3;

/** Which of these words somebody who typed `given` most likely meant, if any. */
export function similarWord(given: string, words: Iterable<string>): string | undefined {
  let best: { word: string; changes: number } | undefined;
  for (const word of words) {
    const changes = countChanges(given.toLowerCase(), word.toLowerCase());
    // Half of a short word is soon changed into another one.
    const isSimilar = changes <= changesMax && changes < Math.max(given.length, word.length) / 2;
    if (isSimilar && changes < (best?.changes ?? Number.POSITIVE_INFINITY)) best = { word, changes };
  }
  return best?.word;
}

/** How many letters have to be added, removed, replaced or swapped with the next one. */
function countChanges(from: string, to: string): number {
  // Words of very different length are not similar, and a key in a file may be as long as the file.
  if (Math.abs(from.length - to.length) > changesMax) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const next = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      next[at] = Math.min(
        last[at]! + 1,
        next[at - 1]! + 1,
        last[at - 1]! + (isSame ? 0 : 1),
        isSwapped ? beforeLast[at - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, next];
  }
  return last[to.length]!;
}
