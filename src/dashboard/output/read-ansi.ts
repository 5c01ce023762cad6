import { type Colour, nearestColour, paletteColour } from "./ansi-colours.ts";

/** How text looks. */
type Look = { colour: Colour | null; isBold: boolean };
/** A piece of a line: text with its look, or a control that is shown in a box and does nothing. */
export type Span = Look & { text: string; isControl: boolean };
export const plainLook: Look = { colour: null, isBold: false };

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

/** Applies colours and bold, and shows every other escape and control as text in a box. */
export function readAnsi(line: string): Span[] {
  const spans: Span[] = [];
  let look = plainLook;
  let from = 0;
  const push = (text: string, isControl: boolean) => {
    if (text !== "") spans.push({ text, ...(isControl ? plainLook : look), isControl });
  };
  for (const match of line.matchAll(special)) {
    push(line.slice(from, match.index), false);
    from = match.index + match[0].length;
    const graphics = /^\x1b\[([\d;:]*)m$/.exec(match[0]);
    if (graphics !== null) look = lookAfter(graphics[1]!, look);
    else push(controlText(match[0]), true);
  }
  push(line.slice(from), false);
  return spans;
}

function lookAfter(parameters: string, before: Look): Look {
  let { colour, isBold } = before;
  const groups = parameters.split(";");
  for (let index = 0; index < groups.length; index++) {
    // Numbers after a colon belong to the code before it: `4:1` is an underline, not bold.
    const [code = 0, ...own] = groups[index]!.split(":").map(Number);
    if (code === 38 || code === 48 || code === 58) {
      const { read, length } = extendedColour(
        own.length > 0 ? withoutSpace(own) : groups.slice(index + 1).map(Number),
      );
      if (code === 38) colour = read;
      if (own.length === 0) index += length;
    } else if (code === 0) ({ colour, isBold } = plainLook);
    else if (code === 1) isBold = true;
    else if (code === 22) {
      isBold = false;
      if (colour === "dim") colour = null;
    } else if (code === 39) colour = null;
    else if (code === 2) colour = "dim";
    else colour = colours[code] ?? colour;
  }
  return { colour, isBold };
}

/** With colons, the number of a colour space may stand before red: `2::r:g:b`. */
function withoutSpace(codes: readonly number[]): readonly number[] {
  return codes[0] === 2 && codes.length > 4 ? [2, ...codes.slice(2)] : codes;
}

/** `5;n` is one of 256 colours, `2;r;g;b` any: each is shown as the nearest colour that is readable in both themes. */
function extendedColour(codes: readonly number[]): { read: Colour | null; length: number } {
  if (codes[0] === 5) return { read: paletteColour(codes[1] ?? 0), length: 2 };
  const [red = 0, green = 0, blue = 0] = codes.slice(1);
  return { read: nearestColour(red, green, blue), length: 4 };
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

/** How many columns the spans take; a box takes two more than its text. */
export function columnsOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { text, isControl }) => sum + text.length + (isControl ? 2 : 0), 0);
}
