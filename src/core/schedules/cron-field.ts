import { invalidArgument } from "../errors.ts";

export type FieldRange = {
  name: string;
  from: number;
  to: number;
  /** Names of the values, the first for `from`. */
  names?: readonly string[];
  /** The value after the last is the first again: weekday 7 is Sunday, and fri-sun is a range. */
  isCircle?: boolean;
};

export type CronField = {
  /** In rising order, each once. */
  values: number[];
  /** A part of it begins with `*`. */
  isStar: boolean;
};

/** Reads one field: a list of `*`, `n`, `a-b`, each with an optional step after a slash. */
export function parseCronField(text: string, range: FieldRange): CronField {
  const values = new Set<number>();
  let isStar = false;
  for (const part of text.split(",")) {
    isStar ||= part.startsWith("*");
    for (const value of valuesOf(part, range)) values.add(value);
  }
  return { values: [...values].sort((a, b) => a - b), isStar };
}

function valuesOf(part: string, range: FieldRange): number[] {
  const found = /^(\*|[a-z0-9]+(?:-[a-z0-9]+)?)(?:\/(\d{1,4}))?$/i.exec(part);
  if (found === null) throw refuse(part, range, "");
  const [, span, stepText] = found as unknown as [string, string, string | undefined];
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step === 0) throw refuse(part, range, ": a step is at least 1");
  const [start, end] = endsOf(span, range, { part, hasStep: stepText !== undefined });
  if (end < start) throw refuse(part, range, ": a range ends after it begins");
  const circle = range.to - range.from + 1;
  const values: number[] = [];
  for (let value = start; value <= end; value += step) values.push(value > range.to ? value - circle : value);
  return values;
}

function endsOf(
  span: string,
  range: FieldRange,
  { part, hasStep }: { part: string; hasStep: boolean },
): [number, number] {
  if (span === "*") return [range.from, range.to];
  const [first, last] = span.split("-") as [string, string | undefined];
  const start = numberOf(first, range, part);
  if (last === undefined) {
    const value = start > range.to ? range.from : start;
    return [value, hasStep ? range.to : value];
  }
  const end = numberOf(last, range, part);
  // fri-sun, or 5-0: Sunday as the end of a week.
  return [start, range.isCircle === true && end === range.from && start > end ? range.to + 1 : end];
}

function numberOf(text: string, range: FieldRange, part: string): number {
  const place = range.names?.indexOf(text.toLowerCase()) ?? -1;
  if (place !== -1) return range.from + place;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  const to = range.isCircle === true ? range.to + 1 : range.to;
  if (!(value >= range.from && value <= to)) throw refuse(part, range, "");
  return value;
}

function refuse(part: string, range: FieldRange, why: string): Error {
  const { name, from, to, names } = range;
  const named = names === undefined ? "" : ` or ${names[0]} to ${names.at(-1)}`;
  const message = `${name}: "${part}" is not allowed${why}; use ${from} to ${to}${named}, *, lists (1,5), ranges (1-5) and steps (*/5)`;
  return invalidArgument({ path: "cron", message });
}
