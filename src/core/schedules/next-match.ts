import type { Cron } from "./cron.ts";

const dayMs = 86_400_000;

/** No expression that is accepted waits longer: 29 February comes after eight years at most, around 2100. */
const yearsMax = 9;

/**
 * The first local time at or after `fromMs` that fits the expression, or null. Local times are counted as if the place
 * had no changes of the clock: milliseconds of the same reading in UTC.
 */
export function nextMatch(cron: Cron, fromMs: number): number | null {
  const from = Math.ceil(fromMs / 1000) * 1000;
  let day = Math.floor(from / dayMs) * dayMs;
  const time = timeAfter(cron, (from - day) / 1000);
  if (time !== null && fitsDay(cron, new Date(day))) return day + time * 1000;
  const first = timeAfter(cron, 0)! * 1000;
  const endYear = new Date(day).getUTCFullYear() + yearsMax;
  for (day += dayMs; ; ) {
    const date = new Date(day);
    if (date.getUTCFullYear() > endYear) return null;
    if (fitsDay(cron, date)) return day + first;
    const isMonth = cron.months.includes(date.getUTCMonth() + 1);
    day = isMonth ? day + dayMs : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  }
}

function fitsDay(cron: Cron, date: Date): boolean {
  if (!cron.months.includes(date.getUTCMonth() + 1)) return false;
  const isDay = cron.daysOfMonth.includes(date.getUTCDate());
  const isWeekday = cron.weekdays.includes(date.getUTCDay());
  return cron.isEitherDay ? isDay || isWeekday : isDay && isWeekday;
}

/** The first time of day, in seconds, at or after one; null if the day has no other. */
function timeAfter({ hours, minutes, seconds }: Cron, fromSec: number): number | null {
  const atLeast = (values: readonly number[], least: number) => values.find((value) => value >= least);
  const [hour, minute, second] = [Math.floor(fromSec / 3600), Math.floor(fromSec / 60) % 60, fromSec % 60];
  if (hours.includes(hour)) {
    const sameMinute = minutes.includes(minute) ? atLeast(seconds, second) : undefined;
    if (sameMinute !== undefined) return hour * 3600 + minute * 60 + sameMinute;
    const later = atLeast(minutes, minute + 1);
    if (later !== undefined) return hour * 3600 + later * 60 + seconds[0]!;
  }
  const laterHour = atLeast(hours, hour + 1);
  return laterHour === undefined ? null : laterHour * 3600 + minutes[0]! * 60 + seconds[0]!;
}
