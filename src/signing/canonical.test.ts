import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Decimal, type JsonValue } from "../core/json-value.ts";
import { canonicalize, isCanonical, pythonFloatRepr } from "./canonical.ts";
import { parseJson } from "./parse-json.ts";

const isPythonThere = spawnSync("python3", ["--version"]).status === 0;
const whySkipped = isPythonThere
  ? ""
  : " [SKIPPED: no python3 on this host, canonical form NOT cross-checked]";

const pythonCanonicalizer = `
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True, separators=(',', ':')))
`;

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

test.skipIf(!isPythonThere)(`Python writes the same bytes for 4,000 random documents${whySkipped}`, () => {
  const texts = [...fc.sample(documentText(), 3000), ...fc.sample(decimalText(), 1000)];
  const run = spawnSync("python3", ["-X", "utf8", "-c", pythonCanonicalizer], {
    input: `${texts.join("\n")}\n`,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  expect(run.stderr).toBe("");
  const lines = run.stdout.split("\n").slice(0, -1);
  expect(lines.length).toBe(texts.length);
  expect(texts.map((text) => canonicalize(parseJson(text)))).toEqual(lines);
});

function canWrite(value: JsonValue): boolean {
  try {
    canonicalize(value);
    return true;
  } catch {
    return false;
  }
}

/** Texts, not values: the tokens matter. Keys and strings reach into every plane and every escape. */
function documentText(): fc.Arbitrary<string> {
  const string = fc.string({ unit: "binary", maxLength: 8 });
  const key = fc.oneof(string, fc.string({ maxLength: 6 })).filter((it) => it !== "__proto__");
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom("null", "true", "false"),
      fc.maxSafeInteger().map((it) => String(it + 0)),
      decimalText(),
      fc.oneof(string, fc.string()).map((it) => JSON.stringify(it)),
      fc.array(tie("node"), { maxLength: 6 }).map((items) => `[${items.join(", ")}]`),
      objectText(key, tie("node")),
    ),
  }));
  return objectText(key, node);
}

function objectText(key: fc.Arbitrary<string>, member: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(key, member), { selector: ([name]) => name, maxLength: 7 })
    .map((members) => `{${members.map(([name, text]) => `${JSON.stringify(name)} :${text}`).join(",")}}`);
}

function decimalText(): fc.Arbitrary<string> {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,20})\.[0-9]{1,20}([eE][+-]?[0-9]{1,2})?$/);
  const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((it) => it.toExponential());
  return fc.oneof(
    digits,
    double,
    fc.tuple(fc.constantFrom("", "-"), digits).map((parts) => parts.join("")),
  );
}
