const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A duration as short as it can be read: `38ms`, `0.6s`, `6m 12s`, `3h 05m`, `4d`. */
export function durationText(ms: number): string {
  if (ms < 0) return "0s";
  if (ms < 100) return `${Math.round(ms)}ms`;
  if (ms < 10 * secondMs) return `${(ms / secondMs).toFixed(1)}s`;
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)}s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)}m ${twoDigits((ms % minuteMs) / secondMs)}s`;
  if (ms < dayMs) return `${Math.floor(ms / hourMs)}h ${twoDigits((ms % hourMs) / minuteMs)}m`;
  return `${Math.floor(ms / dayMs)}d ${Math.floor((ms % dayMs) / hourMs)}h`;
}

const longDays = 30;

/** A remaining time, without hours when it is long. */
export function leftText(ms: number): string {
  const days = Math.floor(ms / dayMs);
  return days < longDays ? durationText(ms) : `${countText(days)} days`;
}

/** How long ago, in one unit. */
export function ageText(ms: number): string {
  if (ms < minuteMs) return `${Math.max(0, Math.floor(ms / secondMs))}s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)}m`;
  if (ms < dayMs) return `${Math.floor(ms / hourMs)}h`;
  return `${Math.floor(ms / dayMs)}d`;
}

function twoDigits(value: number): string {
  return String(Math.floor(value)).padStart(2, "0");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const wholeMoment = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

/** The time of day, with its date if that is not today. */
export function momentText(ms: number): string {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return isToday ? clock.format(ms) : dayAndClock.format(ms);
}

/** Everything about a moment, for a title. */
export function wholeMomentText(ms: number): string {
  return wholeMoment.format(ms);
}

const whole = new Intl.NumberFormat("en-GB");

export function countText(count: number): string {
  return whole.format(count);
}

/** Three figures, however small the rate is. */
export function rateText(perSec: number): string {
  if (perSec === 0) return "0";
  if (perSec >= 100) return Math.round(perSec).toString();
  return perSec.toPrecision(perSec >= 10 ? 3 : 2);
}

/** `2 jobs`, `1 job`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** Bytes with three figures: `41.2 KiB`. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text = unit === 0 || value >= 100 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
  return `${text} ${units[unit]}`;
}

/** The last eight characters of an id, which are random and enough to tell jobs apart. */
export function shortId(id: string): string {
  return id.slice(-8);
}
