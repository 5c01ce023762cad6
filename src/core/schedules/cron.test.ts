import { describe, expect, it } from "vitest";
import { parseCron } from "./cron.ts";

function refusal(text: string): string {
  try {
    parseCron(text);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
}

describe("a cron expression", () => {
  it.each([
    ["", "0 fields"],
    ["* * *", "3 fields"],
    ["* * * * * * *", "7 fields"],
    ["60 * * * *", 'minute: "60" is not allowed; use 0 to 59'],
    ["* 24 * * *", 'hour: "24" is not allowed; use 0 to 23'],
    ["* * 0 * *", 'day of month: "0" is not allowed; use 1 to 31'],
    ["* * * 13 *", 'month: "13" is not allowed; use 1 to 12 or jan to dec'],
    ["* * * * 8", 'weekday: "8" is not allowed; use 0 to 6 or sun to sat'],
    ["* * * * monday", 'weekday: "monday" is not allowed'],
    ["99 * * * * *", 'second: "99" is not allowed; use 0 to 59'],
    ["*/0 * * * *", "a step is at least 1"],
    ["30-10 * * * *", "a range ends after it begins"],
    ["0 0 L * *", 'day of month: "L" is not allowed'],
    ["0 0 ? * *", 'day of month: "?" is not allowed'],
    ["1,,2 * * * *", 'minute: "" is not allowed'],
    ["0 0 30 2 *", 'no month in "month" has a day 30'],
    ["0 0 31 4,6 *", "has a day 31"],
    ["@reboot", '"@reboot" is not known'],
    ["x".repeat(300), "300 characters"],
  ])("refuses %s and names the field", (text, said) => {
    expect(refusal(text)).toContain(said);
    expect(refusal(text)).toMatch(/^cron: /);
  });

  it("holds lists, ranges, steps and names", () => {
    const cron = parseCron("5,10-14/2,50/5 */6 1 jan-MAR,12 Mon-fri");
    expect(cron.seconds).toEqual([0]);
    expect(cron.minutes).toEqual([5, 10, 12, 14, 50, 55]);
    expect(cron.hours).toEqual([0, 6, 12, 18]);
    expect(cron.months).toEqual([1, 2, 3, 12]);
    expect(cron.weekdays).toEqual([1, 2, 3, 4, 5]);
  });

  it("takes 7 and 0 for Sunday, at the end of a range too", () => {
    expect(parseCron("0 0 * * 7").weekdays).toEqual([0]);
    expect(parseCron("0 0 * * fri-sun").weekdays).toEqual([0, 5, 6]);
    expect(parseCron("0 0 * * 5-7").weekdays).toEqual([0, 5, 6]);
    expect(parseCron("0 0 * * 0-7").weekdays).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("has seconds first when it has six fields", () => {
    expect(parseCron("*/20 1 2 3 4 5")).toMatchObject({ seconds: [0, 20, 40], minutes: [1], hours: [2] });
  });

  it("knows the usual names for whole expressions", () => {
    expect(parseCron("@Daily")).toEqual(parseCron("0 0 * * *"));
    expect(parseCron("@weekly")).toEqual(parseCron("0 0 * * sun"));
  });

  it("takes either day when day of month and weekday are both restricted", () => {
    expect(parseCron("0 0 13 * fri").isEitherDay).toBe(true);
    expect(parseCron("0 0 31 2 fri").isEitherDay).toBe(true);
    expect(parseCron("0 0 */2 * fri").isEitherDay).toBe(false);
    expect(parseCron("0 0 13 * *").isEitherDay).toBe(false);
  });

  it("counts elapsed time when minute or hour begins with a star", () => {
    const elapsed = ["*/15 * * * *", "5 * * * *", "* 2 * * *", "0 */2 * * *"];
    expect(elapsed.map((text) => parseCron(text).isElapsed)).toEqual([true, true, true, true]);
    expect(parseCron("0,30 2 * * *").isElapsed).toBe(false);
    expect(parseCron("* 30 2 * * *").isElapsed).toBe(false);
  });
});
