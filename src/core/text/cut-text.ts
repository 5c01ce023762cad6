/** Stands where the rest of a text was cut off. A secret may have begun just before it, so masking looks there too. */
export const cutMark = "…";

/** A text of at most this many characters. The last of them shows that the rest was cut off. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text.toWellFormed();
  const kept = text.slice(0, charsMax - cutMark.length).replace(/[\ud800-\udbff]$/, "");
  return `${kept.toWellFormed()}${cutMark}`;
}
