import { expect, test } from "vitest";
import { readRecord, recordFields } from "./stored-record.ts";

test("every field of a record is read from its own column", () => {
  const read = { attemptsChosen: true, retryCounts: { TIMEOUT: 1 }, failHistory: [1] };
  const stored = { attemptsChosen: 1, retryCounts: '{"TIMEOUT":1}', failHistory: "[1]" };
  const byName: Record<string, unknown> = Object.fromEntries(recordFields.map((field) => [field, field]));
  const values: Record<string, unknown> = { ...byName, ...stored };
  const row = recordFields.map((field) => values[field]);

  expect(readRecord([...row, "what follows"], "key")).toEqual({ ...byName, ...read, queueKey: "key" });
});
