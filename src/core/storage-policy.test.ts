import { describe, expect, test } from "vitest";
import {
  allowsObject,
  inputFor,
  objectKeyProblem,
  storagePolicyOf,
  storagePrefixProblem,
} from "./storage-policy.ts";

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

test("a key is refused like a prefix, and when it is empty, a folder or too long", () => {
  for (const key of [
    "",
    "a/",
    "/a",
    "a//b",
    "../a",
    "a/..",
    "a b",
    "ä",
    "a".repeat(256),
    `${"a/".repeat(512)}a`,
  ]) {
    expect(objectKeyProblem(key), key).toEqual(expect.any(String));
  }
  for (const key of ["a", "a/b.txt", "..a", "day=1/run_1+x@host.tar.gz"])
    expect(objectKeyProblem(key)).toBeNull();
});

test("a right covers keys below its prefix in its folder, by its method, and no others", () => {
  const policy = [{ folderId: "f", prefix: "run", method: "PUT" as const }];
  const may = (folderId: string, objectKey: string, method: "PUT" | "GET" = "PUT") =>
    allowsObject(policy, { folderId, objectKey, method });
  expect([may("f", "run/a"), may("f", "run/a/b")]).toEqual([true, true]);
  expect([may("f", "run"), may("f", "run-2/a"), may("g", "run/a"), may("f", "run/a", "GET")]).toEqual(
    Array(4).fill(false),
  );
  expect(
    allowsObject([{ ...policy[0]!, prefix: "" }], { folderId: "f", objectKey: "x", method: "PUT" }),
  ).toBe(true);
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

  test("is only to read its inputs when it has some and no output location", () => {
    expect(storagePolicyOf({ run: { inputs: [{ folder_id: "f", object_key: "a", sha256: "" }] } })).toEqual(
      [],
    );
    expect(storagePolicyOf({ run: { stdin_from: { folder_id: "f", object_key: "a", sha256: "" } } })).toEqual(
      [],
    );
  });

  test("is to read exactly the objects that it names as inputs", () => {
    const file = (object_key: string) => ({ folder_id: "f", object_key, sha256: "" });
    const document = { run: { inputs: [file("a/b"), file("c")], stdin_from: file("d") } };
    const may = (objectKey: string, method: "GET" | "HEAD" | "PUT" | "DELETE" = "GET", folderId = "f") =>
      inputFor(document, { folderId, objectKey, method }) !== null;
    expect([may("a/b"), may("c", "HEAD"), may("d")]).toEqual([true, true, true]);
    expect([may("a"), may("a/b/c"), may("c", "PUT"), may("c", "DELETE"), may("c", "GET", "g")]).toEqual(
      Array(5).fill(false),
    );
  });

  test("O-01: is to read the one that it means of two files that had the same key", () => {
    const file = (sha256: string) => ({ folder_id: "f", object_key: "a", sha256 });
    const document = { run: { inputs: [file("1"), file("2")] } };
    const asked = { folderId: "f", objectKey: "a", method: "GET" as const };
    expect(inputFor(document, { ...asked, sha256: "sha256:2" })).toEqual(file("2"));
    expect(inputFor(document, { ...asked, sha256: "3" })).toEqual(file("1"));
    expect(inputFor(document, asked)).toEqual(file("1"));
  });
});
