/**
 * Characters that have no shape of their own, or turn the direction of what follows them: controls, formats, separators
 * of lines and paragraphs, and halves of a character. A joiner between two emoji is none of these: it makes one of them.
 */
const hidden =
  /((?!(?<=\p{Extended_Pictographic}[\u{fe0f}\u{1f3fb}-\u{1f3ff}]?)\u{200d}\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])/u;

/**
 * Text that somebody else wrote, as it is: what would be invisible or turn the text around is shown by its number. With
 * `hasLines` a line break is one, and a tab is a tab.
 */
export function PlainText({ text, hasLines = false }: { text: string; hasLines?: boolean }) {
  return (
    <bdi>
      {text.split(hidden).map((part, index) =>
        index % 2 === 0 || (hasLines && (part === "\n" || part === "\t")) ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text are known by their place only.
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
