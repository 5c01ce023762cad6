/** A piece of a line: text with a colour, or a control that is shown in a box and does nothing. */
export type Span = { text: string; colour: Colour | null; isControl: boolean };
type Colour = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "dim";

const colours: Record<number, Colour> = {
  30: "dim",
  31: "red",
  32: "green",
  33: "yellow",
  34: "blue",
  35: "magenta",
  36: "cyan",
  90: "dim",
  91: "red",
  92: "green",
  93: "yellow",
  94: "blue",
  95: "magenta",
  96: "cyan",
};

/**
 * Everything in a line that is not plain text: escape sequences (CSI, strings such as OSC, and two characters), other
 * control characters, and characters that change the direction of the text around them.
 */
const special =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

const controlCharsMax = 24;

export function hasSpecial(line: string): boolean {
  return line.search(special) !== -1;
}

/** Reads colours, and shows every other escape and control as text in a box. Nothing else is obeyed. */
export function readAnsi(line: string): Span[] {
  const spans: Span[] = [];
  let colour: Colour | null = null;
  let from = 0;
  const push = (text: string, isControl: boolean) => {
    if (text !== "") spans.push({ text, colour: isControl ? null : colour, isControl });
  };
  for (const match of line.matchAll(special)) {
    push(line.slice(from, match.index), false);
    from = match.index + match[0].length;
    const graphics = /^\x1b\[([\d;]*)m$/.exec(match[0]);
    if (graphics !== null) colour = colourAfter(graphics[1]!, colour);
    else push(controlText(match[0]), true);
  }
  push(line.slice(from), false);
  return spans;
}

/** 256 and true colours have no place in a palette that is readable in both themes: they are left out. */
function colourAfter(parameters: string, before: Colour | null): Colour | null {
  let colour = before;
  const codes = parameters === "" ? [0] : parameters.split(";").map(Number);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index]!;
    if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
    else if (code === 0 || code === 39) colour = null;
    else if (code === 2) colour = "dim";
    else colour = colours[code] ?? colour;
  }
  return colour;
}

function controlText(control: string): string {
  const code = control.codePointAt(0)!;
  if (code === 0x1b) {
    const rest = [...control.slice(1)].map((character) => (character < " " ? "" : character)).join("");
    return `ESC${rest.slice(0, controlCharsMax)}${rest.length > controlCharsMax ? "…" : ""}`;
  }
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** How many columns the spans take; a box is as wide as its text and two more. */
export function columnsOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { text, isControl }) => sum + text.length + (isControl ? 2 : 0), 0);
}
