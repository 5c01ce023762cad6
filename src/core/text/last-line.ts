/** How much of the end of a stream is looked at for its last line. */
export const lastLineBytesMax = 4 * 1024;
/** Longer lines are cut: this stands beside a reason, in one line of a list. */
const lastLineCharsMax = 200;

/** Escape sequences of terminals: colours and the like, titles, and those of two characters. */
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
/** A character that has no shape, or turns the direction of text, is left out. */
const shapeless = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
/** A call in a stack trace of JavaScript says where, and the line before the calls says what. */
const stackCall = /^at .*(?::\d+:\d+\)?|\((?:native|<anonymous>)\))$/;

/** The last line of what was written that says something, as plain text; null if there is none. */
export function lastLineOf(end: Uint8Array): string | null {
  const text = new TextDecoder().decode(end.subarray(-lastLineBytesMax)).replaceAll(escapes, "");
  const lines = text.split(/[\r\n]+/).map((line) => line.replaceAll(shapeless, " ").trim());
  const line = lines.findLast((one) => one !== "" && !stackCall.test(one));
  if (line === undefined) return null;
  const characters = [...line];
  return characters.length <= lastLineCharsMax
    ? line
    : `${characters.slice(0, lastLineCharsMax - 1).join("")}…`;
}
