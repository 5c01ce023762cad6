/**
 * Characters that have no shape of their own, or turn the direction of what follows them: controls, formats, separators
 * of lines and paragraphs, and halves of a character. A joiner between two emoji is left alone, because it joins them
 * to one.
 */
const hidden =
  /((?!(?<=\p{Extended_Pictographic}[\u{fe0f}\u{1f3fb}-\u{1f3ff}]?)\u{200d}\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])/u;

/**
 * Text that comes from outside. Characters that are invisible or turn the text around are shown as their number. With
 * `hasLines`, line breaks and tabs are kept.
 */
export function PlainText({ text, hasLines = false }: { text: string; hasLines?: boolean }) {
  return (
    <bdi>
      {text.split(hidden).map((part, index) =>
        index % 2 === 0 || (hasLines && (part === "\n" || part === "\t")) ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no identity but their index.
          <span className="control-text" key={index}>
            {codePointOf(part)}
          </span>
        ),
      )}
    </bdi>
  );
}

/** The same where only text fits, such as a title. */
export function plainText(text: string): string {
  return text
    .split(hidden)
    .map((part, index) => (index % 2 === 0 ? part : `[${codePointOf(part)}]`))
    .join("");
}

function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
