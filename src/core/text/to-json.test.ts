import { expect, test } from "vitest";
import { toJson } from "./to-json.ts";

test.each([
  [{ a: { b: [1, Number.NaN] } }, "result.a.b[1]: NaN cannot be written as JSON"],
  [Number.POSITIVE_INFINITY, "result: Infinity cannot be written as JSON"],
  [[undefined], "result[0]: undefined cannot be written as JSON"],
  [[() => 1], "result[0]: a function cannot be written as JSON"],
  [Symbol("x"), "result: a symbol cannot be written as JSON"],
  [{ at: new Date("never") }, "result.at: an invalid date cannot be written as JSON"],
  [{ toJSON: () => ({ n: Number.NaN }) }, "result.n: NaN cannot be written as JSON"],
  [{ seen: new Set([1]) }, "result.seen: a Set cannot be written as JSON"],
  [new Map(), "result: a Map cannot be written as JSON"],
])("C9: %o is refused instead of becoming null or empty", (value, message) => {
  expect(() => toJson(value, "result")).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message }),
  );
});

test("C9: a bigint and a cycle are refused with the name of the value", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(() => toJson({ n: 1n }, "result")).toThrow(/^result: cannot be written as JSON: .*BigInt/);
  expect(() => toJson(circle, "result")).toThrow(/^result: cannot be written as JSON: .*circular/);
});

test("C9: every value that JSON can hold is written as JSON.stringify writes it", () => {
  const value = { none: null, left: undefined, at: new Date(0), empty: {}, list: [null, "null", { n: 1.5 }] };
  expect(toJson(value)).toBe(JSON.stringify(value));
});
