import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { logFormatProblem, parseLogFormat } from "./log-format.ts";
import { openLogger } from "./logger.ts";

const record = { level: "warn", time: "2026-01-02T03:04:05.678Z", msg: "disk is full", job_id: "j1" };

test.each([
  ["%(asctime)s %(name)s %(message)s", "%(name)s is not known; use json, or a pattern of %(asctime)s"],
  ["%(message)d", "%(message)d is not known"],
  ["%s %(message)s", "%s is not known"],
  ["100% %(message)s", "write %% for %"],
  ["text", "a pattern with %(message)s"],
  ["%(message)s\nmore", "must not contain a line break"],
])("the format %j is refused: %s", (format, problem) => {
  expect(logFormatProblem(format)).toContain(problem);
});

test.each([
  ["[%(asctime)s] %(levelname)s: %(message)s", "[2026-01-02 03:04:05.678] WARNING: disk is full job_id=j1\n"],
  ["%(levelname)-9s|%(levelname)9s|%(message)s", "WARNING  |  WARNING|disk is full job_id=j1\n"],
  ["%(message)s %%", "disk is full job_id=j1 %\n"],
])("a record in the format %j", (format, line) => {
  expect(logFormatProblem(format)).toBeNull();
  expect(parseLogFormat(format)!(record)).toBe(line);
});

test("json is what the logger writes by itself", () => {
  expect(logFormatProblem("json")).toBeNull();
  expect(parseLogFormat("json")).toBeUndefined();
});

test("a record stays one line whatever its message and its fields contain", () => {
  const format = parseLogFormat("%(message)s")!;
  const line = format({ ...record, msg: "a\nb\u2028c %(asctime)s", err: { message: "x\ny" } });
  expect(line).toBe(
    'a\\nb\\u2028c %(asctime)s job_id=j1 err={"message":"x\\ny"}\n'.replace("\\u2028", "\u2028"),
  );
});

test("a log in a pattern rotates, and hides secrets as one in JSON does", () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-log-format-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "worker.log");
  const format = parseLogFormat("%(levelname)s %(message)s");
  const logger = openLogger({ file, level: "info", maxSizeBytes: 60, keep: 1, format });
  logger.info({ token: "hidden1" }, "first with sk_worker_hidden2");
  logger.warn({ n: 2 }, "second");
  logger.debug("below the level");
  logger.close();
  expect(readFileSync(`${file}.1`, "utf8")).toBe('INFO first with sk_worker_*** token="***"\n');
  expect(readFileSync(file, "utf8")).toBe("WARNING second n=2\n");
});
