const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Periods are kept in three lengths; the shorter they are, the sooner they are forgotten. */
export const resolutions = [
  { lengthMs: 5 * secondMs, keptMs: hourMs },
  { lengthMs: minuteMs, keptMs: dayMs },
  { lengthMs: hourMs, keptMs: 30 * dayMs },
] as const;

export const shortestMs = resolutions[0].lengthMs;

/** How far statistics look back: the periods that are read, and the steps of the series. */
export const ranges = {
  "15m": { spanMs: 15 * minuteMs, lengthMs: 5 * secondMs, stepMs: 5 * secondMs },
  "1h": { spanMs: hourMs, lengthMs: 5 * secondMs, stepMs: 15 * secondMs },
  "6h": { spanMs: 6 * hourMs, lengthMs: minuteMs, stepMs: minuteMs },
  "24h": { spanMs: dayMs, lengthMs: minuteMs, stepMs: 5 * minuteMs },
  "30d": { spanMs: 30 * dayMs, lengthMs: hourMs, stepMs: 3 * hourMs },
} as const;

export type StatisticsRange = keyof typeof ranges;
export const rangeNames = Object.keys(ranges) as StatisticsRange[];

/** The start of the period that contains this moment. */
export function periodStart(ms: number, lengthMs: number): number {
  return ms - (ms % lengthMs);
}
