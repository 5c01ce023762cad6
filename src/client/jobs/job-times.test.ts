import { expect, test } from "vitest";
import { wireTimes } from "./job-times.ts";

const moment = Date.UTC(2030, 0, 31, 8);

test.each([
  [{ run_at: new Date(moment) }, { run_at: moment }],
  [{ run_at: "2030-01-31T08:00:00Z" }, { run_at: moment }],
  [{ run_at: "2030-01-31T09:00+01:00" }, { run_at: moment }],
  [{ run_at: "2030-01-31" }, { run_at: Date.UTC(2030, 0, 31) }],
  [{ run_at: moment }, { run_at: moment }],
  [{ delay: "5m" }, { delay_ms: 300_000 }],
  [{ delay: "1h30m" }, { delay_ms: 5_400_000 }],
  [{}, {}],
])("O-24: %j is a time for the hub", (given, sent) => {
  expect(wireTimes(given)).toEqual(sent);
});

test.each([
  [
    { run_at: new Date("no") },
    /^run_at: an invalid Date is not a moment; use a Date, ISO text .*, or milliseconds/,
  ],
  [{ run_at: "tomorrow" }, /^run_at: "tomorrow" is not a moment/],
  // Each machine would take it for another moment.
  [{ run_at: "2030-01-31T08:00:00" }, /^run_at: "2030-01-31T08:00:00" is not a moment; .* with a time zone/],
  [{ run_at: "2030-02-31x" }, /^run_at/],
  [
    { delay: 300 as never },
    /^delay: 300 is not a length of time; use a number with its unit \(ms, s, m, h or d\)/,
  ],
  [{ delay: "300" }, /^delay: "300" is not a length of time/],
  [{ delay: "5m", run_at: 1 }, /^delay: give run_at or delay, not both/],
])("O-24: %j is refused with what is allowed", (given, message) => {
  expect(() => wireTimes(given)).toThrow(message);
});
