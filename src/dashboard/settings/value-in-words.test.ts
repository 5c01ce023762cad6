import { expect, test } from "vitest";
import { valueInWords } from "./value-in-words.ts";

test.each([
  ["WRIT_LEASE_MS", 60_000, "1m 00s"],
  ["WRIT_REAPER_INTERVAL_MS", 250, "250 milliseconds"],
  ["WRIT_X_SEC", 90, "1m 30s"],
  ["WRIT_JOB_RETENTION_DAYS", 1, "1 day"],
  ["WRIT_MAX_OUTPUT_BYTES", 1024 ** 3, "1 GiB"],
  ["PORT", 3000, null],
  ["WRIT_LEASE_MS", "60000", null],
])("O-31 %s = %j is %j in words", (name, value, words) => {
  expect(valueInWords(name, value)).toBe(words);
});
