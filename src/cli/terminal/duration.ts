import { parseUnits, unitMs } from "../../core/text/duration-text.ts";

/** Milliseconds for 90, 90s, 10m or 1h30m; a bare number is seconds. Undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  return parseUnits(text);
}

/** A length of time in at most two units: 340ms, 1.2s, 3m 5s, 2h 10m, 4d 3h. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const units = [
    ["d", unitMs.d],
    ["h", unitMs.h],
    ["m", unitMs.m],
    ["s", unitMs.s],
  ] as const;
  const first = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[first]!;
  const [nextName, nextSize] = units[first + 1] ?? [];
  const rest = nextSize === undefined ? 0 : Math.floor((ms % size) / nextSize);
  return `${Math.floor(ms / size)}${name}${rest === 0 ? "" : ` ${rest}${nextName}`}`;
}

/** How long ago something was, in one unit: 5s, 3m, 2h, 4d. */
export function formatAge(thenMs: number, nowMs: number): string {
  return formatDuration(Math.max(1000, nowMs - thenMs)).replace(/^(\d+)(?:\.\d)?(\w+).*$/, "$1$2");
}

/** A moment given as milliseconds since the epoch, a date and time, or +10m from now; otherwise undefined. */
export function parseMoment(text: string, nowMs: number): number | undefined {
  if (text.startsWith("+")) {
    const ms = parseDuration(text.slice(1));
    return ms === undefined ? undefined : nowMs + ms;
  }
  if (/^\d{12,15}$/.test(text)) return Number(text);
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** A moment in the past: a date and time, milliseconds since the epoch, or an age such as 2h. */
export function parsePast(text: string, nowMs: number): number | undefined {
  const agoMs = /^\d{12,}$/.test(text) ? undefined : parseDuration(text);
  return agoMs === undefined ? parseMoment(text, nowMs) : nowMs - agoMs;
}
