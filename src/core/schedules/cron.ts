import { invalidArgument } from "../errors.ts";
import { type CronField, type FieldRange, parseCronField } from "./cron-field.ts";

/** A cron expression as sets of numbers, each in rising order. Why: ADR 0130. */
export type Cron = {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  daysOfMonth: readonly number[];
  months: readonly number[];
  /** 0 is Sunday. */
  weekdays: readonly number[];
  /** Day of month and weekday are both restricted: a day that fits one of them is enough. */
  isEitherDay: boolean;
  /** Minute or hour begins with `*`: the schedule counts elapsed time, and runs through what a change of the clock repeats. */
  isElapsed: boolean;
};

const shorthands: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const second: FieldRange = { name: "second", from: 0, to: 59 };
const minute: FieldRange = { name: "minute", from: 0, to: 59 };
const hour: FieldRange = { name: "hour", from: 0, to: 23 };
const dayOfMonth: FieldRange = { name: "day of month", from: 1, to: 31 };
const month: FieldRange = { name: "month", from: 1, to: 12, names: months };
const weekday: FieldRange = { name: "weekday", from: 0, to: 6, names: weekdays, isCircle: true };

const textLengthMax = 200;

/** Reads an expression of 5 fields, or of 6 with seconds first. Throws INVALID_ARGUMENT that names the field at fault. */
export function parseCron(text: string): Cron {
  const words = wordsOf(text);
  const [seconds, minutes, hours, days, monthsOfYear, daysOfWeek] = (
    words.length === 6 ? words : ["0", ...words]
  ).map((word, index) => parseCronField(word, fields[index]!)) as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ];
  const cron = {
    seconds: seconds.values,
    minutes: minutes.values,
    hours: hours.values,
    daysOfMonth: days.values,
    months: monthsOfYear.values,
    weekdays: daysOfWeek.values,
    isEitherDay: !days.isStar && !daysOfWeek.isStar,
    isElapsed: minutes.isStar || hours.isStar,
  };
  checkDays(cron);
  return cron;
}

const fields = [second, minute, hour, dayOfMonth, month, weekday];

function wordsOf(text: string): string[] {
  const trimmed = text.trim();
  if (trimmed.length > textLengthMax) throw refuse(`it has ${trimmed.length} characters; use at most 200`);
  if (trimmed.startsWith("@")) {
    const meant = shorthands[trimmed.toLowerCase()];
    if (meant === undefined)
      throw refuse(
        `"${trimmed}" is not known; use ${Object.keys(shorthands).join(", ")}, or fields as in 30 2 * * *`,
      );
    return meant.split(" ");
  }
  const words = trimmed.split(/\s+/);
  if (words.length !== 5 && words.length !== 6)
    throw refuse(
      `"${trimmed}" has ${trimmed === "" ? 0 : words.length} fields; use 5 (minute, hour, day of month, month, weekday), or 6 with seconds first`,
    );
  return words;
}

const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Refuses an expression that no date fits, such as 30 February. With a weekday as an alternative, some date does. */
function checkDays({ daysOfMonth, months: chosen, isEitherDay }: Cron): void {
  const first = daysOfMonth[0]!;
  if (isEitherDay || chosen.some((number) => first <= longestMonths[number - 1]!)) return;
  throw refuse(`no month in "month" has a day ${first}; use a day of month that one of them has`);
}

function refuse(message: string): Error {
  return invalidArgument({ path: "cron", message });
}
