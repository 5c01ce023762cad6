import { describe, expect, test } from "vitest";
import { storagePolicyOf, storagePrefixProblem } from "./storage-policy.ts";

describe("a prefix of keys is refused when it", () => {
  test.each([
    ["climbs", ["..", "../x", "a/../b", "a/.."]],
    ["stands still", [".", "./a", "a/./b"]],
    ["begins at a root", ["/", "/a", "//a"]],
    ["has empty parts", ["a//b", "a//"]],
    [
      "could mean something else elsewhere",
      ["a\\b", "%2e%2e", "a b", "a\nb", "a\0b", "~a", "a*", "ä", "．．"],
    ],
    ["is longer than a key or a file name", [`${"a/".repeat(256)}a`, "a".repeat(256)]],
  ])("%s", (_, prefixes) => {
    for (const prefix of prefixes) expect(storagePrefixProblem(prefix), prefix).toEqual(expect.any(String));
  });
});

test("a prefix may be a name, a path, end with a slash, hold dots, or be empty", () => {
  for (const prefix of [
    "",
    "a",
    "a/b",
    "a/b/",
    "..a/b..",
    ".a",
    "day=2026-03-01/run_1+x@host",
    "a".repeat(255),
  ]) {
    expect(storagePrefixProblem(prefix), prefix).toBeNull();
  }
});

describe("what a job may do in storage", () => {
  test("is nothing without an output location, whatever else it says", () => {
    const storage_access_policy = [{ folderId: "f", prefix: "", method: "PUT" as const }];
    expect(storagePolicyOf({})).toBeNull();
    expect(storagePolicyOf({ storage_access_policy })).toBeNull();
  });

  test("is to put files at its output location when it has no policy", () => {
    expect(storagePolicyOf({ output_location: { folder_id: "f", prefix: "a/b/" } })).toEqual([
      { folderId: "f", prefix: "a/b", method: "PUT" },
    ]);
    expect(storagePolicyOf({ output_location: { folder_id: "f" } })).toEqual([
      { folderId: "f", prefix: "", method: "PUT" },
    ]);
  });

  test("is exactly what its policy says when it has one", () => {
    const storage_access_policy = [
      { folderId: "in", prefix: "a/", method: "GET" as const },
      { folderId: "f", prefix: "", method: "HEAD" as const },
    ];
    expect(storagePolicyOf({ output_location: { folder_id: "f" }, storage_access_policy })).toEqual([
      { folderId: "in", prefix: "a", method: "GET" },
      { folderId: "f", prefix: "", method: "HEAD" },
    ]);
  });
});
