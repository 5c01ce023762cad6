/**
 * Finds where values in canonical form end, without making anything of them. Whatever it accepts, the strict parser reads
 * too, and `canonicalize` writes back byte for byte; a test compares the two. It does not accept everything that is
 * canonical: text with `\u` escapes, keys with any escape, decimals and large integers are left to the strict parser.
 * Why: ADR 0117.
 */
export class CanonicalScanner {
  readonly #text: string;
  #keysLeft: number;

  constructor(text: string, keysMax: number) {
    this.#text = text;
    this.#keysLeft = keysMax;
  }

  /** Counts keys that somebody else has read, or may have; false when the text has too many. */
  takeKeys(count: number): boolean {
    this.#keysLeft -= count;
    return this.#keysLeft >= 0;
  }

  get keysLeft(): number {
    return this.#keysLeft;
  }

  /** Where the value that begins at `at` ends, or -1. `levels` is how deep it may be nested. */
  value(at: number, levels: number): number {
    const keysLeft = this.#keysLeft;
    const end = this.#value(at, levels);
    if (end === -1) this.#keysLeft = keysLeft;
    return end;
  }

  #value(at: number, levels: number): number {
    const code = this.#text.charCodeAt(at);
    if (code === quote) return this.#string(at);
    if (code === openObject) return levels > 0 ? this.#object(at + 1, levels - 1) : -1;
    if (code === openArray) return levels > 0 ? this.#array(at + 1, levels - 1) : -1;
    if (code === minus || isDigit(code)) return this.#integer(at);
    for (const word of words) if (this.#text.startsWith(word, at)) return at + word.length;
    return -1;
  }

  /** A string with its quotes: printable ASCII, and the escapes of two characters that canonical form has. */
  #string(from: number): number {
    const text = this.#text;
    let at = from + 1;
    // Bounded by the text: at its end the code is NaN.
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === quote) return at + 1;
      if (code === backslash) {
        if (!isShortEscape(text.charCodeAt(at + 1))) return -1;
        at += 2;
      } else if (code >= 0x20 && code <= 0x7e) at++;
      else return -1;
    }
  }

  /** A string without escapes, so that its characters are its value. */
  plainString(from: number): number {
    const text = this.#text;
    let at = from + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === quote) return at + 1;
      if (!(code >= 0x20 && code <= 0x7e) || code === backslash) return -1;
      at++;
    }
  }

  #object(from: number, levels: number): number {
    const text = this.#text;
    let at = from;
    if (text.charCodeAt(at) === closeObject) return at + 1;
    let before: string | undefined;
    // Bounded by the text: each turn goes on, or returns.
    for (;;) {
      if (text.charCodeAt(at) !== quote) return -1;
      const end = this.plainString(at);
      if (end === -1 || --this.#keysLeft < 0) return -1;
      const key = text.slice(at + 1, end - 1);
      if (key === "__proto__" || (before !== undefined && before >= key)) return -1;
      before = key;
      if (text.charCodeAt(end) !== colon) return -1;
      at = this.#value(end + 1, levels);
      if (at === -1) return -1;
      const code = text.charCodeAt(at);
      if (code === closeObject) return at + 1;
      if (code !== comma) return -1;
      at++;
    }
  }

  #array(from: number, levels: number): number {
    const text = this.#text;
    let at = from;
    if (text.charCodeAt(at) === closeArray) return at + 1;
    // Bounded by the text: each turn goes on, or returns.
    for (;;) {
      at = this.#value(at, levels);
      if (at === -1) return -1;
      const code = text.charCodeAt(at);
      if (code === closeArray) return at + 1;
      if (code !== comma) return -1;
      at++;
    }
  }

  #integer(from: number): number {
    const text = this.#text;
    const first = text.charCodeAt(from) === minus ? from + 1 : from;
    let at = first;
    while (isDigit(text.charCodeAt(at))) at++;
    const digits = at - first;
    if (digits === 0 || digits > safeDigits) return -1;
    // Neither 007 nor -0 is canonical.
    if (text.charCodeAt(first) === zero && (digits > 1 || first !== from)) return -1;
    // A decimal goes on here with a character that may not follow a value.
    return at;
  }
}

/** Integers of so many digits are all safe. */
const safeDigits = 15;
const words = ["true", "false", "null"];

function isDigit(code: number): boolean {
  return code >= zero && code <= 0x39;
}

/** `\"`, `\\`, `\b`, `\f`, `\n`, `\r` and `\t`. */
function isShortEscape(code: number): boolean {
  return (
    code === quote ||
    code === backslash ||
    code === 0x6e ||
    code === 0x74 ||
    code === 0x72 ||
    code === 0x62 ||
    code === 0x66
  );
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const colon = 0x3a;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
