import { describe, expect, it } from "vitest";
import { Columns, flag, json, nullable, number, text } from "./columns.ts";

const rows = new Columns({
  id: text("t.id"),
  size: nullable(number("t.size")),
  isOpen: flag("t.is_open"),
  tags: json<string[]>("t.tags"),
});

describe("columns", () => {
  it("refuse a value that their type does not allow, and name the column", () => {
    const row = { id: null, size: 1, isOpen: 0, tags: "[]" };
    expect(() => rows.read(row)).toThrow("t.id holds null, and a string was expected");
  });

  it("are selected under the names of their fields", () => {
    expect(rows.list).toBe('t.id AS "id", t.size AS "size", t.is_open AS "isOpen", t.tags AS "tags"');
  });

  it("read the flags of both databases, JSON and null", () => {
    expect(rows.read({ id: "a", size: null, isOpen: 1, tags: '["x"]' })).toEqual({
      id: "a",
      size: null,
      isOpen: true,
      tags: ["x"],
    });
    expect(rows.read({ id: "a", size: 2, isOpen: false, tags: "[]" }).isOpen).toBe(false);
  });
});
