/** The colours of the terminal: each has a shade that can be read in both themes. */
export type Colour = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "dim";

/** The first 16 of the 256 colours. */
const first: (Colour | null)[] = ["dim", "red", "green", "yellow", "blue", "magenta", "cyan", null];
/** The steps of the cube of 6 × 6 × 6 colours. */
const steps = [0, 95, 135, 175, 215, 255];

/** One of the 256 colours of a terminal; null is the colour of plain text. */
export function paletteColour(number: number): Colour | null {
  if (number < 16) return number === 15 ? null : (first[number % 8] ?? null);
  if (number >= 232) return number < 244 ? "dim" : null;
  const place = number - 16;
  return nearestColour(steps[Math.floor(place / 36)]!, steps[Math.floor(place / 6) % 6]!, steps[place % 6]!);
}

/** The colour of the same hue. A grey is shown plain, or dim if it is dark. */
export function nearestColour(red: number, green: number, blue: number): Colour | null {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 40) return most < 128 ? "dim" : null;
  const sixth = 60 / (most - least);
  const hue =
    most === red
      ? (green - blue) * sixth
      : most === green
        ? 120 + (blue - red) * sixth
        : 240 + (red - green) * sixth;
  const names: Colour[] = ["red", "yellow", "green", "cyan", "blue", "magenta"];
  return names[Math.round(((hue + 360) % 360) / 60) % 6]!;
}
