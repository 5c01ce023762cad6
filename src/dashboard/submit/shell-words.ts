/** Splits a command line into words as a shell reads quotes and backslashes; null if a quote is not closed. */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  let word = "";
  let hasWord = false;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (quote === null && /\s/.test(character)) {
      if (hasWord) words.push(word);
      word = "";
      hasWord = false;
      continue;
    }
    hasWord = true;
    if (character === quote) quote = null;
    else if (quote === null && (character === "'" || character === '"')) quote = character;
    else if (character === "\\" && quote !== "'" && at + 1 < line.length) word += line[++at];
    else word += character;
  }
  if (quote !== null) return null;
  if (hasWord) words.push(word);
  return words;
}

/** The command line that splits into these words. */
export function joinWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

/** Quotes a word for a POSIX shell. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
