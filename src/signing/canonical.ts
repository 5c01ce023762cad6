import { WritError } from "../core/errors.ts";
import { CanonicalText, Decimal, type JsonObject, type JsonValue } from "../core/text/json-value.ts";
import { depthCeiling, depthMaxDefault, parseJson } from "./parse-json.ts";

/**
 * The one spelling that is signed: byte for byte what Python's `json.dumps(value, sort_keys=True, separators=(",",
 * ":"))` writes. `parseJson` reads back everything that it writes. Why: ADR 0062, ADR 0064.
 */
export function canonicalize(value: JsonValue, depthMax = depthCeiling): string {
  return writeValue(value, depthCeiling - depthMax);
}

/**
 * What a text in canonical form means, by the plain parser, which is three times as fast as the strict one. If
 * serialising its result gives the same bytes, the text has no duplicate key and no other spelling of a number, and the
 * value contains no Decimal. Null for any other text: the strict parser then reads it, or reports what is wrong.
 */
export function readPlainly(text: string): JsonValue | null {
  try {
    const value = JSON.parse(text) as JsonValue;
    const isCanonical =
      withoutEscapes.test(text) && JSON.stringify(value) === text
        ? isOrderly(value, depthCeiling - depthMaxDefault)
        : canonicalize(value, depthMaxDefault) === text;
    return isCanonical ? value : null;
  } catch {
    // Text that is not JSON is not canonical either.
    return null;
  }
}

/** Printable ASCII without a backslash: in such a text the engine's own serialiser quotes every string as Python does. */
const withoutEscapes = /^[ -[\]-~]*$/;

/**
 * Whether a value that the engine has read and written back unchanged is in canonical form: what remains to be checked is
 * the order of its keys, how its numbers are written and its depth. That takes a fraction of the time of writing it again.
 */
function isOrderly(value: JsonValue, depth: number): boolean {
  if (typeof value === "number")
    return (
      Number.isSafeInteger(value) || (!Number.isInteger(value) && pythonFloatRepr(value) === String(value))
    );
  if (typeof value !== "object" || value === null) return true;
  if (depth >= depthCeiling) return false;
  if (Array.isArray(value)) return value.every((item) => isOrderly(item, depth + 1));
  let before: string | undefined;
  for (const [key, item] of Object.entries(value)) {
    if (key === "__proto__" || (before !== undefined && before >= key)) return false;
    if (!isOrderly(item as JsonValue, depth + 1)) return false;
    before = key;
  }
  return true;
}

/** A part of a value whose canonical form was already made. The part is recognised by identity. */
export type KnownPart = { value: unknown; text: string };

/**
 * Writes objects that have some of these fields, as `canonicalize` would; a field that is undefined is left out. The names
 * are sorted and quoted once, and not for each object.
 */
export function canonicalWriter(
  names: readonly string[],
): (fields: Readonly<Record<string, unknown>>, known?: KnownPart) => string {
  const sorted = [...names].sort(compareCodePoints);
  const prefixes = sorted.map((name) => `${canonicalString(name)}:`);
  return (fields, known) => {
    let text = "{";
    for (let index = 0; index < sorted.length; index++) {
      const value = fields[sorted[index]!] as JsonValue | undefined;
      if (value === undefined) continue;
      if (text.length > 1) text += ",";
      text += prefixes[index]! + writeValue(value, 1, known);
    }
    return `${text}}`;
  };
}

/** True if the text is strict JSON in canonical form. */
export function isCanonical(text: string): boolean {
  try {
    return canonicalize(parseJson(text)) === text;
  } catch (error) {
    if (error instanceof WritError) return false;
    throw error;
  }
}

function writeValue(value: JsonValue, depth: number, known?: KnownPart): string {
  if (typeof value === "string") return canonicalString(value);
  if (typeof value === "number") return writeNumber(value);
  if (value === true) return "true";
  if (value === false) return "false";
  if (value === null) return "null";
  if (typeof value !== "object") throw refusal(`a ${typeof value} has no canonical form`);
  if (value instanceof Decimal) return pythonFloatRepr(value.valueOf());
  if (value instanceof CanonicalText) return value.text;
  if (known !== undefined && value === known.value) return known.text;
  // A parsed value cannot be this deep, but a value that contains itself can.
  if (depth >= depthCeiling)
    throw new WritError("TOO_DEEP", `the value is nested more than ${depthCeiling} levels`);
  return Array.isArray(value) ? writeArray(value, depth + 1, known) : writeObject(value, depth + 1, known);
}

function writeArray(array: JsonValue[], depth: number, known?: KnownPart): string {
  let text = "[";
  for (let index = 0; index < array.length; index++) {
    if (index > 0) text += ",";
    text += writeValue(array[index] as JsonValue, depth, known);
  }
  return `${text}]`;
}

function writeObject(object: JsonObject, depth: number, known?: KnownPart): string {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype)
    throw refusal("only plain objects have a canonical form");
  let text = "{";
  for (const key of sortedKeys(object)) {
    if (key === "__proto__") throw refusal('the key "__proto__" is refused');
    if (text.length > 1) text += ",";
    text += `${canonicalString(key)}:${writeValue(object[key] as JsonValue, depth, known)}`;
  }
  return `${text}}`;
}

/** The keys of documents that were canonical when parsed are already in order, and checking is cheaper than sorting. */
function sortedKeys(object: JsonObject): string[] {
  const keys = Object.keys(object);
  for (let index = 1; index < keys.length; index++) {
    if (compareCodePoints(keys[index - 1] as string, keys[index] as string) > 0)
      return keys.sort(compareCodePoints);
  }
  return keys;
}

/** JavaScript compares UTF-16 units, Python code points: they differ where a surrogate meets U+E000 to U+FFFF. */
function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return codePointRank(a) - codePointRank(b);
  }
  return left.length - right.length;
}

function codePointRank(unit: number): number {
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate ? unit + 0x10000 : unit;
}

/** A string as the canonical form quotes it. */
export function canonicalString(string: string): string {
  for (let index = 0; index < string.length; index++) {
    const code = string.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return escapedString(string);
  }
  return `"${string}"`;
}

/** JSON.stringify escapes quotes, backslashes and control characters as Python does; this does the rest. */
function escapedString(string: string): string {
  if (!string.isWellFormed()) throw refusal("a string contains half of a surrogate pair");
  return JSON.stringify(string).replace(/[\u007f-\uffff]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function writeNumber(number: number): string {
  // -0 is an integer to JavaScript and a float to Python, so there is no one way to write it.
  if (Number.isSafeInteger(number) && !Object.is(number, -0)) return String(number);
  if (Number.isInteger(number)) throw refusal("the integer is -0 or outside ±(2^53−1)");
  return pythonFloatRepr(number);
}

/** Both languages write the fewest digits that read back as the same double; only the layout differs. */
export function pythonFloatRepr(number: number): string {
  if (!Number.isFinite(number)) throw refusal("NaN and infinities have no canonical form");
  if (Object.is(number, -0)) return "-0.0";
  const [mantissa = "", power = "0"] = number.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const digits = String(Math.abs(exponent)).padStart(2, "0");
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${digits}`;
  }
  // Between 1e-6 and 1e21 JavaScript writes no exponent either.
  const text = String(number);
  return Number.isInteger(number) ? `${text}.0` : text;
}

function refusal(reason: string): WritError {
  return new WritError("INVALID_JSON", reason);
}
