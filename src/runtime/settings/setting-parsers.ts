import { tryParseJson } from "../../core/text/json-value.ts";

/**
 * Converts a value into a setting, or returns undefined if it is not allowed. Flags and the environment provide text, a
 * YAML file provides typed values, so each parser accepts both.
 */
export type SettingParser<T> = ((value: unknown) => T | undefined) & {
  /** Completes the sentence "use …". */
  readonly allowed: string;
};

export function integer({ min, max }: { min: number; max: number }): SettingParser<number> {
  return parser(`a whole number from ${min} to ${max}`, (value) => {
    const number = toNumber(value, /^-?\d{1,16}$/);
    return Number.isSafeInteger(number) && number >= min && number <= max ? number : undefined;
  });
}

export function number({ min, max }: { min: number; max: number }): SettingParser<number> {
  return parser(`a number from ${min} to ${max}`, (value) => {
    const found = toNumber(value, /^-?\d{1,16}(?:\.\d{1,16})?$/);
    return found >= min && found <= max ? found : undefined;
  });
}

export function boolean(): SettingParser<boolean> {
  return parser("true or false", (value) => {
    if (typeof value === "boolean") return value;
    return value === "true" ? true : value === "false" ? false : undefined;
  });
}

export function text({
  pattern,
  allowed,
}: {
  pattern?: RegExp;
  allowed?: string;
} = {}): SettingParser<string> {
  const described =
    allowed ??
    (pattern ? `text that matches ${pattern.source}` : "text (in quotes if it looks like a number)");
  return parser(described, (value) => {
    if (typeof value !== "string" || value === "") return undefined;
    return pattern === undefined || pattern.test(value) ? value : undefined;
  });
}

export function oneOf<const T extends string>(choices: readonly T[]): SettingParser<T> {
  return parser(`one of ${choices.join(", ")}`, (value) => choices.find((choice) => choice === value));
}

/** A list of strings: JSON in a flag or the environment, a list in a file. */
export function jsonList(): SettingParser<string[]> {
  return parser('a JSON list of strings such as ["a","b"]', (value) => {
    const list = typeof value === "string" ? tryParseJson(value) : value;
    if (!Array.isArray(list)) return undefined;
    return list.every((item) => typeof item === "string") ? list : undefined;
  });
}

/** A custom parser, for example around a schema. */
export function parser<T>(allowed: string, parse: (value: unknown) => T | undefined): SettingParser<T> {
  return Object.assign((value: unknown) => parse(value), { allowed });
}

function toNumber(value: unknown, pattern: RegExp): number {
  if (typeof value === "number") return value;
  // Number("") is 0 and Number("0x10") is 16; neither is what somebody meant.
  return typeof value === "string" && pattern.test(value) ? Number(value) : Number.NaN;
}
