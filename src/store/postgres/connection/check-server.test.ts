import { expect, test } from "vitest";
import { isShared, lackOf } from "./check-server.ts";

const fit = { version: 15, encoding: "UTF8", mayCreate: true, hasSchema: false };

test.each([
  [{ version: 14 }, "the server is PostgreSQL 14; the hub needs 15 or newer"],
  [{ encoding: "LATIN1" }, "the database has the encoding LATIN1; create one with ENCODING 'UTF8'"],
  [{ mayCreate: false }, "the user may not create a schema"],
])("a server that lacks something is refused with what it lacks: %j", (lack, words) => {
  expect(lackOf({ ...fit, ...lack })).toContain(words);
});

test("a user who may create nothing can use a schema that somebody has made", () => {
  expect(lackOf(fit)).toBeNull();
  expect(lackOf({ ...fit, mayCreate: false, hasSchema: true })).toBeNull();
});

test("a pooler is told by processes that several connections use, or by a connection that uses several", () => {
  expect(isShared([7, 7], 8)).toBe(false);
  expect(isShared([7, 7], 7)).toBe(true);
  expect(isShared([7, 8], 9)).toBe(true);
});
