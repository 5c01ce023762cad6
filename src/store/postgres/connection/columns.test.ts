import { describe, expect, it } from "vitest";
import { encodeColumn } from "./columns.ts";

describe("the binary form of a column", () => {
  it("has a head with one dimension, the type and the number of elements", () => {
    const head = encodeColumn("bigint", [7]);
    expect([0, 4, 8, 12, 16].map((at) => head.readInt32BE(at))).toEqual([1, 0, 20, 1, 1]);
  });

  it("says that there are nulls, and writes them as a length of -1", () => {
    const column = encodeColumn("text", ["a", null]);
    expect(column.readInt32BE(4)).toBe(1);
    expect(column.readInt32BE(column.length - 4)).toBe(-1);
  });

  it.each([0, 1, -1, -10, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    "holds the whole number %d",
    (value) => {
      expect(encodeColumn("bigint", [value]).readBigInt64BE(24)).toBe(BigInt(value));
    },
  );

  it("replaces the one character that a text must not hold, and half a surrogate pair", () => {
    expect(encodeColumn("text", ["a\0b\ud800"]).subarray(24).toString()).toBe("a\uFFFDb\uFFFD");
  });

  it("holds bytes and truth as they are", () => {
    expect(encodeColumn("bytea", [Buffer.from([0, 255])]).subarray(24)).toEqual(Buffer.from([0, 255]));
    expect(encodeColumn("boolean", [true, false]).at(24)).toBe(1);
  });
});
