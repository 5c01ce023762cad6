// Occurrences around a change of the clock, found the slow way: minute by minute. Why: ADR 0130.
import { parseCron } from "../../../src/core/schedules/cron.ts";
import { nextOccurrence, type Place } from "../../../src/core/schedules/occurrences.ts";
import { timeZone } from "../../../src/hub/schedules/time-zone.ts";

const expressions = [
  "30 2 * * *",
  "0 2 * * *",
  "0 3 * * *",
  "15,45 0-3 * * *",
  "0 0 * * *",
  "30 0 * * *",
  "0,30 23 * * *",
  "*/15 * * * *",
  "5 * * * *",
  "*/20 2 * * *",
  "0 */2 * * *",
  "59 23 * * *",
  "10 1,2 * * *",
];

const minuteMs = 60_000;
/** The longest gap leaves out a day, and every change is seen with hours of quiet on both sides. */
const aroundMs = 5 * 60 * minuteMs;

export const years = { from: Date.UTC(2020, 0, 1), to: Date.UTC(2041, 0, 1) };

/** The changes of a place from 2020 to 2040. */
export function changesOf(zone: string): { atMs: number; by: number }[] {
  const { changeAfter, offsetAt } = timeZone(zone);
  const changes: { atMs: number; by: number }[] = [];
  for (let at = changeAfter(years.from - 1); at !== null && at < years.to; at = changeAfter(at))
    changes.push({ atMs: at, by: offsetAt(at) - offsetAt(at - 1) });
  return changes;
}

/** One place for each rule: those whose clocks change in the same way at the same local times have the same rule. */
export function zonesOfDistinctRules(): string[] {
  const byRule = new Map<string, string>();
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const { offsetAt } = timeZone(zone);
    const rule = changesOf(zone).map(({ atMs, by }) => `${atMs + offsetAt(atMs)} ${by}`);
    if (!byRule.has(rule.join())) byRule.set(rule.join(), zone);
  }
  return [...byRule.values()];
}

/** Where the times of a place differ from what a walk by the minute finds; each difference as a text. */
export function differencesOf(zone: string): { checked: number; differences: string[] } {
  const differences: string[] = [];
  let checked = 0;
  for (const { atMs } of changesOf(zone)) {
    const [from, to] = [atMs - aroundMs, atMs + aroundMs];
    const minutes = readClock(zone, from, to);
    for (const text of expressions) {
      checked++;
      const expected = walked(text, minutes).join();
      const found = reckoned(text, zone, { from, to }).join();
      if (expected !== found)
        differences.push(`${zone} ${text} at ${new Date(atMs).toISOString()}: ${found}, not ${expected}`);
    }
  }
  return { checked, differences };
}

type Minute = { atMs: number; hour: number; minute: number; localMs: number };

function readClock(zone: string, from: number, to: number): Minute[] {
  const minutes: Minute[] = [];
  for (let atMs = from; atMs < to; atMs += minuteMs) {
    const read = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
    const localMs = Date.UTC(read.year, read.month - 1, read.day, read.hour, read.minute);
    minutes.push({ atMs, hour: read.hour, minute: read.minute, localMs });
  }
  return minutes;
}

function walked(text: string, minutes: Minute[]): string[] {
  const { hours, minutes: ofHour, isElapsed } = parseCron(text);
  const fits = (hour: number, minute: number) => hours.includes(hour) && ofHour.includes(minute);
  const read = new Set<number>();
  const fired: string[] = [];
  let before = minutes[0]!.localMs - minuteMs;
  for (const { atMs, hour, minute, localMs } of minutes) {
    let isDue = false;
    if (isElapsed) isDue = fits(hour, minute);
    else
      for (let local = Math.min(before + minuteMs, localMs); local <= localMs; local += minuteMs) {
        const reading = new Date(local);
        if (read.has(local)) continue;
        read.add(local);
        isDue ||= fits(reading.getUTCHours(), reading.getUTCMinutes());
      }
    if (isDue) fired.push(new Date(atMs).toISOString());
    before = localMs;
  }
  return fired;
}

function reckoned(text: string, zone: string, { from, to }: { from: number; to: number }): string[] {
  const timing = { kind: "cron", cron: parseCron(text), zone: timeZone(zone) } as const;
  const fired: string[] = [];
  let place: Place = { atMs: from - 1 };
  for (;;) {
    const next = nextOccurrence(timing, place);
    if (next === null || next.atMs >= to) return fired;
    fired.push(new Date(next.atMs).toISOString());
    // Without the local time that is kept with a schedule: each is found from the instant alone.
    place = { atMs: next.atMs };
  }
}
