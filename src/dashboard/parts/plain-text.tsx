/** Characters that have no shape of their own, or turn the direction of what follows them. */
const hidden = /([\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff])/u;

/** Text that somebody else wrote, as it is: what would be invisible or turn the text around is shown by its number. */
export function PlainText({ text }: { text: string }) {
  const parts = text.split(hidden);
  return (
    <bdi>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text are known by their place only.
          <span className="control-text" key={index}>
            U+{(part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}
          </span>
        ),
      )}
    </bdi>
  );
}
