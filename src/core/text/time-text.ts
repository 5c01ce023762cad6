/** The last moment that a date can show: the year 275760. */
export const timeMsMax = 8_640_000_000_000_000;

/** A moment as people read it. Jobs of older hubs may be due at a moment that no date can show. */
export function timeText(ms: number): string {
  return new Date(Math.min(ms, timeMsMax)).toISOString();
}
