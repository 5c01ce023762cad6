import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ResultForm, readResult } from "./read-result.ts";

function readFrom(stdout: string, form: ResultForm) {
  const dir = mkdtempSync(join(tmpdir(), "writ-result-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "stdout"), stdout);
  return readResult({ resultFile: join(dir, "result"), stdout: join(dir, "stdout"), form });
}

const pretty = JSON.stringify({ a: [1, { b: 2 }] }, null, 2);

test.each([
  ["the last line", 'log\n{"a":1}\n', '{"a":1}'],
  ["all of it", `${pretty}\n`, pretty],
  ["all of it, without indentation", '[\n{\n"a":1\n}\n]\n', '[\n{\n"a":1\n}\n]'],
  ["what follows other lines", `thinking\nstill thinking\n${pretty}\n\n`, pretty],
  ["the last of several documents", `${pretty}\n[\n 1\n]\n`, "[\n 1\n]"],
])("a document over several lines is the result: %s", async (_what, stdout, json) => {
  expect(await readFrom(stdout, "document")).toEqual({ kind: "found", json });
});

test.each([
  ["nothing", ""],
  ["text", "no result today\n"],
  ["half a document", '{\n  "a": 1,\n'],
  ["the inner part of a broken document", '[\n{"a":\n1}\n,]\n'],
  ["a document with text after it", `${pretty}\nbye\n`],
])("no result is made up from %s", async (_what, stdout) => {
  expect(await readFrom(stdout, "document")).toEqual({ kind: "none" });
});

test("for other kinds only the last line counts", async () => {
  expect(await readFrom(`${pretty}\n`, "line")).toEqual({ kind: "none" });
});
