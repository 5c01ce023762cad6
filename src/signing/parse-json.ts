import { type ErrorCode, WritError } from "../core/errors.ts";
import { Decimal, type JsonObject, type JsonValue } from "../core/text/json-value.ts";
import { type JsonStep, jsonPath } from "./json-path.ts";

/** Deeper than any genuine document. A caller may choose another limit, up to the ceiling. */
export const depthMaxDefault = 64;

/** The parser recurses once per level; this many levels fit into the stack of any thread. */
export const depthCeiling = 512;

type ParseOptions = {
  maxDepth?: number;
  /** How many keys all objects together may have: each is compared, sorted and written several times after this. */
  keysMax?: number;
};

/**
 * Reads strict JSON that has exactly one meaning in every language: no duplicate keys, no lone surrogates, no number
 * that a double would change, no `__proto__`, and bounded nesting. Why: ADR 0005.
 */
export function parseJson(text: string, options: ParseOptions = {}): JsonValue {
  if (typeof text !== "string") throw new WritError("INVALID_JSON", "JSON text must be a string");
  const maxDepth = Math.min(options.maxDepth ?? depthMaxDefault, depthCeiling);
  return new Parser(text, maxDepth, options.keysMax ?? Number.POSITIVE_INFINITY).document();
}

class Parser {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #keysMax: number;
  #keys = 0;
  #at = 0;
  #depth = 0;
  // The key or index being read at each open level; costs one store per member and gives the path of an error.
  readonly #place: JsonStep[] = [];

  constructor(text: string, maxDepth: number, keysMax: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#keysMax = keysMax;
  }

  document(): JsonValue {
    if (this.#text.charCodeAt(0) === 0xfeff) this.#fail("a byte order mark is not part of JSON");
    const value = this.#value(this.#skipSpace());
    this.#skipSpace();
    if (this.#at < this.#text.length) {
      this.#fail("there is more text after the end of the JSON value");
    }
    return value;
  }

  /**
   * Every reader below receives the code of the character at `at` (NaN at the end) and leaves `at` after what it read.
   */
  #value(code: number): JsonValue {
    if (code === quoteCode) return this.#string();
    if (code === openObjectCode) return this.#object();
    if (code === openArrayCode) return this.#array();
    if (isDigit(code) || code === minusCode) return this.#number(code);
    if (code === 0x74) return this.#word("true", true);
    if (code === 0x66) return this.#word("false", false);
    if (code === 0x6e) return this.#word("null", null);
    return this.#fail("a JSON value was expected");
  }

  #object(): JsonObject {
    this.#enter();
    const object: JsonObject = Object.create(null);
    const level = this.#depth - 1;
    let code = this.#skipSpace();
    if (code !== closeObjectCode) {
      // Bounded by the text: every turn consumes at least one character.
      for (;;) {
        if (code !== quoteCode) this.#fail("a key in double quotes was expected");
        const keyAt = this.#at;
        const key = this.#string();
        this.#place[level] = key;
        if (++this.#keys > this.#keysMax)
          this.#fail(`the JSON has more than ${this.#keysMax} keys`, "TOO_LARGE", keyAt);
        if (key in object) this.#fail("the key appears twice in one object", "DUPLICATE_KEY", keyAt);
        if (key === "__proto__") this.#fail('the key "__proto__" is refused', "INVALID_JSON", keyAt);
        if (this.#skipSpace() !== colonCode) this.#fail("a colon was expected");
        this.#at++;
        object[key] = this.#value(this.#skipSpace());
        code = this.#skipSpace();
        if (code === closeObjectCode) break;
        if (code !== commaCode) this.#fail("a comma or the end of the object was expected");
        this.#at++;
        code = this.#skipSpace();
      }
    }
    this.#leave();
    return object;
  }

  #array(): JsonValue[] {
    this.#enter();
    const array: JsonValue[] = [];
    const level = this.#depth - 1;
    let code = this.#skipSpace();
    if (code !== closeArrayCode) {
      // Bounded by the text: every turn consumes at least one character.
      for (;;) {
        this.#place[level] = array.length;
        array.push(this.#value(code));
        code = this.#skipSpace();
        if (code === closeArrayCode) break;
        if (code !== commaCode) this.#fail("a comma or the end of the array was expected");
        this.#at++;
        code = this.#skipSpace();
      }
    }
    this.#leave();
    return array;
  }

  #enter(): void {
    if (this.#depth >= this.#maxDepth) {
      this.#fail(`the JSON is nested more than ${this.#maxDepth} levels deep`, "TOO_DEEP");
    }
    this.#place[this.#depth++] = null;
    this.#at++;
  }

  #leave(): void {
    this.#depth--;
    this.#at++;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at + 1;
    let at = start;
    let code = text.charCodeAt(at);
    let isAscii = true;
    while (code !== quoteCode) {
      if (code === backslashCode) return this.#escapedString(start);
      if (!(code >= 0x20)) this.#failInString(at);
      if (code > 0x7f) isAscii = false;
      code = text.charCodeAt(++at);
    }
    this.#at = at + 1;
    const string = text.slice(start, at);
    if (!isAscii && !string.isWellFormed()) this.#fail(loneSurrogate, "INVALID_JSON", start);
    return string;
  }

  /** Checked as a whole after decoding, because only then is it known whether two escapes form a pair. */
  #escapedString(start: number): string {
    const text = this.#text;
    let string = "";
    let from = start;
    let at = start;
    let code = text.charCodeAt(at);
    while (code !== quoteCode) {
      if (!(code >= 0x20)) this.#failInString(at);
      if (code === backslashCode) {
        string += text.slice(from, at);
        const letter = text.charCodeAt(at + 1);
        if (letter === letterUCode) {
          string += String.fromCharCode(this.#hexUnit(at + 2));
          at += 6;
        } else {
          string += shortEscapes[letter] ?? this.#fail("the escape is unknown", "INVALID_JSON", at);
          at += 2;
        }
        from = at;
      } else {
        at++;
      }
      code = text.charCodeAt(at);
    }
    this.#at = at + 1;
    string += text.slice(from, at);
    if (!string.isWellFormed()) this.#fail(loneSurrogate, "INVALID_JSON", start);
    return string;
  }

  #hexUnit(from: number): number {
    let unit = 0;
    for (let at = from; at < from + 4; at++) {
      const code = this.#text.charCodeAt(at);
      const lower = code | 0x20;
      if (isDigit(code)) unit = unit * 16 + (code - zeroCode);
      else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + (lower - 0x57);
      else this.#fail("four hexadecimal digits were expected", "INVALID_JSON", at);
    }
    return unit;
  }

  #number(first: number): number | Decimal {
    const text = this.#text;
    const start = this.#at;
    let at = first === minusCode ? start + 1 : start;
    const digitsAt = at;
    let integer = 0;
    let code = text.charCodeAt(at);
    while (isDigit(code)) {
      integer = integer * 10 + (code - zeroCode);
      code = text.charCodeAt(++at);
    }
    if (at === digitsAt) this.#fail("a digit was expected", "INVALID_JSON", at);
    if (at > digitsAt + 1 && text.charCodeAt(digitsAt) === zeroCode) {
      this.#fail("a number must not start with a zero", "INVALID_JSON", start);
    }
    if (code === pointCode || (code | 0x20) === letterECode) return this.#decimal(start, at);
    // Once a sum passes 2^53, rounding can no longer bring it back, so the inexact sum is enough to refuse.
    if (integer > Number.MAX_SAFE_INTEGER)
      this.#fail("the integer is outside ±(2^53−1)", "INVALID_JSON", start);
    this.#at = at;
    if (first !== minusCode) return integer;
    // Python reads -0 as 0 and JavaScript as -0; one text must not have two meanings.
    if (integer === 0) this.#fail("the integer -0 is refused", "INVALID_JSON", start);
    return -integer;
  }

  #decimal(start: number, pointAt: number): Decimal {
    const text = this.#text;
    let at = pointAt;
    if (text.charCodeAt(at) === pointCode) at = this.#skipDigits(at + 1);
    if ((text.charCodeAt(at) | 0x20) === letterECode) {
      const sign = text.charCodeAt(at + 1);
      at = this.#skipDigits(sign === plusCode || sign === minusCode ? at + 2 : at + 1);
    }
    const token = text.slice(start, at);
    if (!Number.isFinite(Number(token))) this.#fail("the decimal is not finite", "INVALID_JSON", start);
    this.#at = at;
    return new Decimal(token);
  }

  #skipDigits(from: number): number {
    let at = from;
    while (isDigit(this.#text.charCodeAt(at))) at++;
    if (at === from) this.#fail("a digit was expected", "INVALID_JSON", at);
    return at;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail("a JSON value was expected");
    this.#at += word.length;
    return value;
  }

  #skipSpace(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      code = this.#text.charCodeAt(++this.#at);
    }
    return code;
  }

  #failInString(at: number): never {
    const isOver = at >= this.#text.length;
    return this.#fail(
      isOver ? "the string does not end" : "a control character must be escaped",
      "INVALID_JSON",
      at,
    );
  }

  #fail(reason: string, code: ErrorCode = "INVALID_JSON", offset = this.#at): never {
    const path = jsonPath(this.#place.slice(0, this.#depth));
    throw new WritError(code, `${reason}, at ${path === "" ? "the top level" : path} (offset ${offset})`, {
      path,
      offset,
    });
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

const loneSurrogate = "a string contains half of a surrogate pair";
const quoteCode = 0x22;
const plusCode = 0x2b;
const commaCode = 0x2c;
const minusCode = 0x2d;
const pointCode = 0x2e;
const zeroCode = 0x30;
const colonCode = 0x3a;
const openArrayCode = 0x5b;
const backslashCode = 0x5c;
const closeArrayCode = 0x5d;
const letterECode = 0x65;
const letterUCode = 0x75;
const openObjectCode = 0x7b;
const closeObjectCode = 0x7d;
const shortEscapes: Record<number, string> = {
  34: '"',
  92: "\\",
  47: "/",
  98: "\b",
  102: "\f",
  110: "\n",
  114: "\r",
  116: "\t",
};
