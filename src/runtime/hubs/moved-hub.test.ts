import { describe, expect, test } from "vitest";
import { readMovedTo } from "./moved-hub.ts";

const away = new URL("https://old.example:3000");
const here = new URL("http://127.0.0.1:3000");

describe("refusals", () => {
  test.each([
    ["http://new.example:3000", away, "unencrypted"],
    ["http://new.example:3000", here, "unencrypted"],
    // A hub elsewhere must not send the token to whatever listens on the caller's own machine.
    ["http://127.0.0.1:3000", away, "only from there"],
    ["http://localhost:3000", away, "only from there"],
    ["https://new.example:3000, http://127.0.0.1:1", away, "only from there"],
    ["https://user:password@new.example", away, "must not contain a user"],
    ["ftp://new.example", away, "is not a hub address"],
    ["", away, "is not a hub address"],
    [`https://${"a".repeat(9_000)}`, away, "1 to 16 addresses"],
    [Array.from({ length: 17 }, (_, n) => `https://h${n}`).join(), away, "1 to 16 addresses"],
  ])("%s from %s", (named, from, problem) => {
    expect(() => readMovedTo(named, from)).toThrow(problem);
  });
});

test("an encrypted address is followed from everywhere, a plain one from one port of this machine to another", () => {
  expect(readMovedTo("https://a.example, https://b.example:3000/", away)).toEqual([
    "https://a.example",
    "https://b.example:3000",
  ]);
  expect(readMovedTo("https://a.example", here)).toEqual(["https://a.example"]);
  expect(readMovedTo("http://127.0.0.1:4000", here)).toEqual(["http://127.0.0.1:4000"]);
});
