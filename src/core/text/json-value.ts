import { WritError } from "../errors.ts";

/** The values of strict JSON: integers are numbers, and everything written with `.`, `e` or `E` is a Decimal. */
export type JsonValue = null | boolean | number | string | Decimal | CanonicalText | JsonValue[] | JsonObject;

/** Parsed objects have no prototype, so no untrusted key can reach one. */
export type JsonObject = { [key: string]: JsonValue };

/**
 * A number that was written as a decimal. JavaScript cannot tell 1.0 from 1, but the canonical form must, so the text
 * is kept together with the double.
 */
export class Decimal {
  readonly text: string;
  readonly #double: number;

  constructor(text: string) {
    this.text = text;
    this.#double = Number(text);
    if (!Number.isFinite(this.#double)) {
      throw new WritError("INVALID_JSON", "the decimal is not finite as a double");
    }
  }

  valueOf(): number {
    return this.#double;
  }
}

/** A value that is known by its canonical form alone. It is written as it stands, and read only if somebody asks for it. */
export class CanonicalText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/**
 * Converts a parsed value to ordinary data, for code that never signs it again. Keys are defined, not assigned, because
 * assigning to `__proto__` would set the prototype.
 */
export function toPlain(value: JsonValue): unknown {
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Decimal) return value.valueOf();
  if (value instanceof CanonicalText) return value.toJSON();
  if (Array.isArray(value)) return value.map(toPlain);
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = toPlain(value[key] as JsonValue);
    if (key === "__proto__") {
      Object.defineProperty(plain, key, {
        value: member,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else {
      plain[key] = member;
    }
  }
  return plain;
}

/** Whether a value takes more bytes than this as JSON. It looks only as far as it has to. */
export function jsonExceeds(value: unknown, bytesMax: number): boolean {
  return bytesLeft(value, bytesMax) < 0;
}

function bytesLeft(value: unknown, left: number): number {
  if (typeof value === "string") return left - (value.length > left ? value.length : textBytes(value));
  if (value instanceof Decimal) return left - value.text.length;
  if (typeof value !== "object" || value === null) return left - String(value).length;
  let rest = left - 2;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    if (rest < 0) break;
    const member = (value as Record<number | string, unknown>)[key];
    rest = bytesLeft(member, rest - (typeof key === "string" ? textBytes(key) + 2 : 1));
  }
  return rest;
}

function textBytes(text: string): number {
  return new TextEncoder().encode(JSON.stringify(text)).length;
}

/** What JSON text means, or undefined when it is not JSON. For text whose shape is checked next. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The shape that is checked next refuses `undefined`.
    return undefined;
  }
}
