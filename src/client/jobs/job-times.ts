import { invalidArgument } from "../../core/errors.ts";
import { parseUnits } from "../../core/text/duration-text.ts";

/** A moment: a `Date`, ISO text with a time zone such as `2030-01-31T08:00:00Z`, or milliseconds since the epoch. */
export type Moment = Date | string | number;

/** When a job may start; one of the two. */
export type StartTime = {
  run_at?: Moment | undefined;
  /** This long after the hub has accepted it: `"90s"`, `"5m"`, `"1h30m"`. */
  delay?: string | undefined;
};

/** The same as the hub reads it. A delay counts by the hub's clock, and a repeated submission with it is the same one. */
export function wireTimes({ run_at, delay }: StartTime): { run_at?: number; delay_ms?: number } {
  if (run_at !== undefined && delay !== undefined)
    throw invalidArgument({ path: "delay", message: "give run_at or delay, not both" });
  if (delay !== undefined) return { delay_ms: delayMs(delay) };
  return run_at === undefined ? {} : { run_at: momentMs(run_at) };
}

function delayMs(delay: unknown): number {
  const ms = typeof delay === "string" ? parseUnits(delay) : undefined;
  if (ms !== undefined) return ms;
  const message = `${shown(delay)} is not a length of time; use a number with its unit (ms, s, m, h or d), such as "90s" or "1h30m"`;
  throw invalidArgument({ path: "delay", message });
}

const allowed =
  "use a Date, ISO text with a time zone such as 2030-01-31T08:00:00Z, or milliseconds since the epoch";
// A date alone is midnight in UTC; a time without a zone would mean another moment on each machine.
const isoText = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2}))?$/;

function momentMs(moment: unknown): number {
  if (typeof moment === "number" && Number.isFinite(moment)) return moment;
  const ms =
    moment instanceof Date
      ? moment.getTime()
      : typeof moment === "string" && isoText.test(moment)
        ? Date.parse(moment)
        : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw invalidArgument({ path: "run_at", message: `${shown(moment)} is not a moment; ${allowed}` });
}

function shown(value: unknown): string {
  if (value instanceof Date) return "an invalid Date";
  return JSON.stringify(value) ?? String(value);
}
