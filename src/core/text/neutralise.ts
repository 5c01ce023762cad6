// C0 except tab and line feed, DEL, C1, marks and overrides that change text direction, line and paragraph
// separators, and lone surrogates: everything that could move, hide or recolour the text around it.
export const harmful =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;
const colourCode = /\x1b\[[0-9;:]{0,64}m/g;

/**
 * Makes untrusted text safe to show: nothing in it can control a terminal. Line breaks and tabs stay. Line ends are
 * replaced before colours; otherwise a colour inside one would make the result depend on how output is cut into chunks.
 */
export function neutralise(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(colourCode, "").replaceAll(harmful, showCode);
}

/**
 * Text that somebody is to judge, such as a diff: every character shows, colour codes too. With those taken away, two
 * different texts could look the same.
 */
export function showAll(text: string): string {
  return text.replaceAll(harmful, showCode);
}

function showCode(letter: string): string {
  const code = letter.charCodeAt(0);
  const hex = code.toString(16);
  return code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
}
