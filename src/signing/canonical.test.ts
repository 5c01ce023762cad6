import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Decimal, type JsonValue, toPlain } from "../core/text/json-value.ts";
import { canonicalize, canonicalWriter, isCanonical, pythonFloatRepr, readPlainly } from "./canonical.ts";
import { parseJson } from "./parse-json.ts";

describe("canonicalize refuses", () => {
  const selfContaining: JsonValue[] = [];
  selfContaining.push(selfContaining);
  const hostile = JSON.parse('{"__proto__":1}');
  const refused: [string, unknown, string][] = [
    ["NaN", Number.NaN, "INVALID_JSON"],
    ["an infinity", Number.POSITIVE_INFINITY, "INVALID_JSON"],
    ["an unsafe integer", 2 ** 53, "INVALID_JSON"],
    ["a large whole double", 1e300, "INVALID_JSON"],
    ["-0, which is 0 or -0.0", -0, "INVALID_JSON"],
    ["undefined", { a: undefined }, "INVALID_JSON"],
    ["a hole in an array", new Array(1), "INVALID_JSON"],
    ["a bigint", 1n, "INVALID_JSON"],
    ["a function", () => 1, "INVALID_JSON"],
    ["a date", new Date(0), "INVALID_JSON"],
    ["a map", new Map(), "INVALID_JSON"],
    ["a lone surrogate", "\ud800", "INVALID_JSON"],
    ["a lone surrogate in a key", { "\udc00": 1 }, "INVALID_JSON"],
    ["an own __proto__", hostile, "INVALID_JSON"],
    ["a value that contains itself", selfContaining, "TOO_DEEP"],
  ];
  test.each(refused)("%s", (_name, value, code) => {
    expect(() => canonicalize(value as JsonValue)).toThrow(expect.objectContaining({ code }));
  });
});

describe("canonicalize writes", () => {
  test("keys in code point order, where UTF-16 order differs", () => {
    expect(canonicalize({ "😀": 1, "\uffff": 2, a: 3, "": 4, "10": 5, "9": 6 })).toBe(
      '{"":4,"10":5,"9":6,"a":3,"\\uffff":2,"\\ud83d\\ude00":1}',
    );
  });

  test("escapes as Python does", () => {
    expect(canonicalize('\0\b\t\n\u000b\f\r\u001f "\\/~\u007f\u0080é\u2028😀')).toBe(
      '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f \\"\\\\/~\\u007f\\u0080\\u00e9\\u2028\\ud83d\\ude00"',
    );
  });

  test("NFC and NFD as the two different strings that they are", () => {
    expect(canonicalize("é".normalize("NFC"))).not.toBe(canonicalize("é".normalize("NFD")));
  });

  test("numbers by how they were written, not by their value", () => {
    expect(canonicalize(parseJson("[1,1.0,-0.0,1e2,0.5]"))).toBe("[1,1.0,-0.0,100.0,0.5]");
    expect(canonicalize([1, 1.5, new Decimal("1E2")])).toBe("[1,1.5,100.0]");
  });

  test("only what parseJson reads back as the same text", () => {
    const value = fc.jsonValue({ maxDepth: 4 }).filter((it) => canWrite(it as JsonValue));
    const property = fc.property(value, (it) => {
      expect(isCanonical(canonicalize(it as JsonValue))).toBe(true);
    });
    fc.assert(property, { numRuns: 1000 });
  });
});

describe("isCanonical refuses", () => {
  test.each([
    '{"b":1,"a":2}',
    '{"a": 1}',
    '"é"',
    '"\\u00E9"',
    '"\\/"',
    "1e2",
    "1.50",
    "[1,]",
    "",
    '{"a":1,"a":1}',
    "{}\n",
  ])("%s", (text) => expect(isCanonical(text)).toBe(false));
});

describe("readPlainly", () => {
  test("reads a text only if the strict parser would read it, and as the same data", () => {
    const property = fc.property(fc.json({ maxDepth: 4 }), (json) => {
      const plain = readPlainly(json);
      if (plain === null) return;
      expect(isCanonical(json)).toBe(true);
      expect(plain).toEqual(toPlain(parseJson(json)));
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test.each([
    '{"a":1,"a":1}',
    '{"__proto__":1}',
    '"\\ud800"',
    "1.0",
    "-0",
    "1e400",
    "9007199254740993",
    "9007199254740992",
    "1e-7",
    "1e+21",
    '{"b":1,"a":1}',
    '{"a":{"b":1,"B":1}}',
    '"é"',
    '"\u007f"',
    '{"a": 1}',
    "[1,]",
    "",
  ])("leaves %s to the strict parser", (text) => expect(readPlainly(text)).toBe(null));

  test("reads every text in canonical form that holds no number which only Python writes so", () => {
    const value = fc.jsonValue({ maxDepth: 4 }).filter((it) => canWrite(it as JsonValue));
    const property = fc.property(value, (it) => {
      const text = canonicalize(it as JsonValue);
      const isPlain = canonicalize(JSON.parse(text)) === text;
      expect(readPlainly(text) !== null || text === "null").toBe(isPlain);
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test("reads no text that is nested deeper than the strict parser allows", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(readPlainly(nested(64))).not.toBe(null);
    expect(readPlainly(nested(65))).toBe(null);
    expect(() => parseJson(nested(65))).toThrow();
  });
});

describe("canonicalWriter", () => {
  test("refuses what has no canonical form", () => {
    const write = canonicalWriter(["a"]);
    expect(() => write({ a: Number.NaN })).toThrow(expect.objectContaining({ code: "INVALID_JSON" }));
    expect(() => write({ a: { b: undefined } })).toThrow(expect.objectContaining({ code: "INVALID_JSON" }));
  });

  test("writes what canonicalize writes, and leaves out what is undefined", () => {
    const names = ["z", "ä", "a", "\ue000", "\u{1f600}", 'q"'];
    const fields = fc.record(Object.fromEntries(names.map((name) => [name, fc.integer()])), {
      requiredKeys: [],
    });
    fc.assert(
      fc.property(fields, (some) => {
        expect(canonicalWriter(names)({ ...some, absent: 1 })).toBe(canonicalize(some as JsonValue));
        expect(canonicalWriter(names)({ ...some, a: undefined })).not.toContain('"a"');
      }),
    );
  });

  test("takes the text of the known part wherever that very part occurs, and of no other", () => {
    const part = { b: 1 };
    const known = { value: part, text: "KNOWN" };
    expect(canonicalWriter(["a", "c"])({ a: [part], c: { d: part } }, known)).toBe(
      '{"a":[KNOWN],"c":{"d":KNOWN}}',
    );
    expect(canonicalWriter(["a"])({ a: { b: 1 } }, known)).toBe('{"a":{"b":1}}');
  });
});

test.each([
  [0, "0.0"],
  [-0, "-0.0"],
  [1, "1.0"],
  [1e21, "1e+21"],
  [1e16, "1e+16"],
  [1e15, "1000000000000000.0"],
  [2 ** 53, "9007199254740992.0"],
  [1.2345678901234567e19, "1.2345678901234567e+19"],
  [1e-7, "1e-07"],
  [0.00001, "1e-05"],
  [0.0001, "0.0001"],
  [123456789012345.6, "123456789012345.6"],
  [5e-324, "5e-324"],
  [1.7976931348623157e308, "1.7976931348623157e+308"],
  [-1.5e-10, "-1.5e-10"],
])("pythonFloatRepr(%d) is %s", (number, text) => {
  expect(pythonFloatRepr(number)).toBe(text);
});

function canWrite(value: JsonValue): boolean {
  try {
    canonicalize(value);
    return true;
  } catch {
    return false;
  }
}
