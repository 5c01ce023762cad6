import { bytesText, durationText, plural } from "../parts/format.ts";

/**
 * What a number means, by the unit at the end of its setting's name; null without a unit, or if the number is clear by
 * itself.
 */
export function valueInWords(name: string, value: unknown): string | null {
  if (typeof value !== "number") return null;
  if (name.endsWith("_MS")) return value < 1000 ? `${value} milliseconds` : durationText(value);
  if (name.endsWith("_SEC")) return durationText(value * 1000);
  if (name.endsWith("_DAYS")) return plural(value, "day");
  if (name.endsWith("_BYTES")) return bytesText(value);
  return null;
}
