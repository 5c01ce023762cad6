import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WritError } from "../core/errors.ts";
import { Decimal, type JsonValue, toPlain } from "../core/text/json-value.ts";
import { parseJson } from "./parse-json.ts";

function refusalOf(text: string, maxDepth?: number): WritError {
  try {
    parseJson(text, { maxDepth });
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
  throw new Error(`was accepted: ${text.slice(0, 80)}`);
}

describe("parseJson refuses", () => {
  const invalid: [string, string][] = [
    ["nothing", ""],
    ["only space", " \n"],
    ["a byte order mark", "\ufeff{}"],
    ["trailing garbage", "{} x"],
    ["a second value", "{}{}"],
    ["a trailing NUL", "{}\0"],
    ["a space that JSON does not know", "\u00a0{}"],
    ["NaN", "NaN"],
    ["Infinity", "-Infinity"],
    ["half a word", "tru"],
    ["single quotes", "{'a':1}"],
    ["a comment", "{}/* */"],
    ["a trailing comma in an array", "[1,]"],
    ["a trailing comma in an object", '{"a":1,}'],
    ["a missing colon", '{"a" 1}'],
    ["a missing comma", "[1 2]"],
    ["an object that does not end", '{"a":1'],
    ["an array that does not end", "[1"],
    ["a key that does not end", '{"a'],
    ["a string that ends in a backslash", '"\\'],
    ["an array closed as an object", "[1}"],
    ["a leading zero", "01"],
    ["a leading zero behind a minus", "-01"],
    ["a plus sign", "+1"],
    ["a lone minus", "-"],
    ["a point without digits behind it", "1."],
    ["a point without digits before it", ".5"],
    ["an exponent without digits", "1e"],
    ["an exponent with only a sign", "1e+"],
    ["hexadecimal", "0x10"],
    ["an integer above 2^53-1", "9007199254740992"],
    ["an integer that rounds", "9007199254740993"],
    ["an integer below -(2^53-1)", "-9007199254740992"],
    ["an integer of a thousand digits", "9".repeat(1000)],
    ["the integer -0", "-0"],
    ["a decimal that overflows", "1e400"],
    ["a raw control character", '"a\u0001"'],
    ["a raw line feed", '"a\n"'],
    ["an unknown escape", '"\\x41"'],
    ["an upper-case unicode escape", '"\\U0041"'],
    ["a short unicode escape", '"\\u12"'],
    ["a unicode escape that is not hexadecimal", '"\\u12g4"'],
    ["a signed unicode escape", '"\\u+123"'],
    ["a raw lone high surrogate", '"\ud800"'],
    ["a raw lone low surrogate", '"\udc00"'],
    ["an escaped lone high surrogate", '"\\ud83d"'],
    ["an escaped lone low surrogate", '"\\ude00"'],
    ["escaped surrogates in the wrong order", '"\\ude00\\ud83d"'],
    ["a lone surrogate in a key", '{"\\ud83d":1}'],
    ["__proto__ as a key", '{"__proto__":{}}'],
    ["__proto__ as an escaped key", '{"\\u005f_proto__":{}}'],
  ];
  test.each(invalid)("%s", (_name, text) => {
    expect(refusalOf(text).code).toBe("INVALID_JSON");
  });

  test("__proto__ as a key, in one sentence with its place", () => {
    const { message } = refusalOf('{"params":{"__proto__":1}}');
    expect(message).toMatch(/^the key "__proto__" is refused, at params\S* \(offset \d+\)$/);
  });

  test("what is not a string", () => {
    expect(refusalOf(null as unknown as string).code).toBe("INVALID_JSON");
  });

  test("duplicate keys, and names the place", () => {
    const error = refusalOf('{"run":{"steps":[0,{"allowed_paths":["src/"],"allowed_paths":["/"]}]}}');
    expect(error.code).toBe("DUPLICATE_KEY");
    expect(error.details).toEqual({ path: "run.steps[1].allowed_paths", offset: 45 });
  });

  test("duplicate keys that are spelled differently", () => {
    expect(refusalOf('{"a":1,"\\u0061":2}').code).toBe("DUPLICATE_KEY");
    expect(refusalOf('{"":1,"":2}').code).toBe("DUPLICATE_KEY");
  });

  test("level 65, and level 200,000 without touching the end of the stack", () => {
    expect(refusalOf("[".repeat(65) + "]".repeat(65)).code).toBe("TOO_DEEP");
    expect(refusalOf("[".repeat(200_000)).code).toBe("TOO_DEEP");
    expect(refusalOf('{"a":'.repeat(200_000)).code).toBe("TOO_DEEP");
    expect(refusalOf("[".repeat(200_000), 1_000_000).code).toBe("TOO_DEEP");
    expect(refusalOf("[[]]", 1).code).toBe("TOO_DEEP");
  });

  test("with the offset of the fault, and quotes odd keys so that they cannot forge a log line", () => {
    expect(refusalOf('{"a":[1,tru]}').details).toEqual({ path: "a[1]", offset: 8 });
    expect(refusalOf('{"a\\nb":-0}').details).toEqual({ path: '["a\\nb"]', offset: 8 });
    expect(String(refusalOf(`{"${"k".repeat(5000)}":-0}`).details?.["path"]).length).toBeLessThan(300);
  });
});

describe("parseJson reads", () => {
  test("64 levels", () => {
    expect(() => parseJson("[".repeat(64) + "]".repeat(64))).not.toThrow();
  });

  test("the names of Object.prototype as plain keys of objects without a prototype", () => {
    const value = parseJson('{"constructor":1,"toString":2,"hasOwnProperty":3}');
    expect(Object.getPrototypeOf(value)).toBeNull();
    expect(Object.keys(value as object)).toEqual(["constructor", "toString", "hasOwnProperty"]);
  });

  test.each(["1.0", "-0.0", "1e5", "1E+2", "0.1e-7", "-0e0", "1e-400"])("%s as a decimal", (text) => {
    const value = parseJson(text);
    expect(value).toBeInstanceOf(Decimal);
    expect((value as Decimal).text).toBe(text);
    expect(Object.is((value as Decimal).valueOf(), Number(text))).toBe(true);
  });

  test.each([0, 7, -1, 9007199254740991, -9007199254740991])("%d as an integer", (integer) => {
    expect(parseJson(String(integer))).toBe(integer);
  });

  test("every escape, pairs of surrogates and space around everything", () => {
    expect(parseJson('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\ud83d\ude00"')).toBe(
      '"\\/\b\f\n\r\té😀😀',
    );
    expect(toPlain(parseJson(' \t{ "a" : [ 1 , true , false , null ] }\r\n'))).toEqual({
      a: [1, true, false, null],
    });
  });

  test("whatever JSON.stringify writes, as JSON.parse reads it", () => {
    const property = fc.property(fc.json({ maxDepth: 5 }), (text) => {
      fc.pre(!/-0(?![.\d])|__proto__|\\ud[89a-f]/i.test(text) && text.isWellFormed());
      fc.pre(!/\d{16}/.test(text));
      expect(toPlain(parseJson(text))).toEqual(JSON.parse(text));
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test("never differently from JSON.parse, whatever one changed character does to a text", () => {
    const text = '{"a":[1,-2.5e3,"x\\u00e9\\n",true,null],"b":{"c":"d"}}';
    const property = fc.property(
      fc.nat(text.length - 1),
      fc.constantFrom(...'{}[]",:\\0-+.eEtu x'),
      (at, char) => {
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        let value: JsonValue;
        try {
          value = parseJson(changed);
        } catch (error) {
          expect(error).toBeInstanceOf(WritError);
          return;
        }
        expect(toPlain(value)).toEqual(JSON.parse(changed));
      },
    );
    fc.assert(property, { numRuns: 3000 });
  });
});

describe("toPlain", () => {
  test("keeps an own __proto__ as data", () => {
    const hostile = JSON.parse('{"__proto__":{"admin":true}}') as JsonValue;
    const plain = toPlain(hostile) as Record<string, unknown>;
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
    expect(plain["admin"]).toBeUndefined();
    expect(Object.keys(plain)).toEqual(["__proto__"]);
  });

  test("turns decimals into numbers", () => {
    expect(toPlain(parseJson('{"a":[1.5,2]}'))).toEqual({ a: [1.5, 2] });
  });
});
