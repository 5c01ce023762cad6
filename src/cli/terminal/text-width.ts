// Marks that are drawn over the character before them, and characters that terminals draw two columns wide.
const noWidth = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const doubleWidth =
  /^[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;
const plain = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const letter of text) width += letterWidth(letter);
  return width;
}

/** The text if it fits, else as much of it as fits with `…` at its end. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const letter of text) {
    left -= letterWidth(letter);
    if (left < 0) break;
    kept += letter;
  }
  return width < 1 ? "" : `${kept}…`;
}

export function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

/** The words of a text in lines of at most this width; a word that is longer has a line of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(last) + 1 + textWidth(word) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function letterWidth(letter: string): number {
  if (noWidth.test(letter)) return 0;
  return doubleWidth.test(letter) ? 2 : 1;
}
