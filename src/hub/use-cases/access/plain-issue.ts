import type { z } from "zod";

/** The sentence for a field whose shape has none of its own. Undefined leaves it to the validator. */
export function plainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") return typeText(issue.expected, issue.input);
  if (issue.code === "invalid_value") return `must be ${oneOf(issue.values)}`;
  if (issue.code === "too_small") return `must ${sizeText(issue.origin, "at least", issue.minimum)}`;
  if (issue.code === "too_big") return `must ${sizeText(issue.origin, "at most", issue.maximum)}`;
  // The validator's own sentence says only that the key is wrong; the issue of the key says what is allowed.
  if (issue.code === "invalid_key") return issue.issues[0]?.message;
  return issue.code === "invalid_union" ? "has none of the allowed forms" : undefined;
}

const typeNames: Readonly<Record<string, string>> = {
  object: "a JSON object",
  record: "a JSON object",
  array: "a list",
  tuple: "a list",
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  null: "null",
};

function typeText(expected: string, input: unknown): string {
  const name = typeNames[expected];
  if (name === undefined) return input === undefined ? "is missing" : "has the wrong type";
  return input === undefined ? `is missing; it must be ${name}` : `must be ${name}`;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => JSON.stringify(value) ?? String(value));
  return shown.length === 1 ? shown[0]! : `one of ${shown.join(", ")}`;
}

function sizeText(origin: string, bound: "at least" | "at most", size: number | bigint): string {
  if (origin === "string") return `have ${bound} ${size} ${size === 1 ? "character" : "characters"}`;
  if (origin === "number" || origin === "int") return `be ${bound} ${size}`;
  return `have ${bound} ${size} ${size === 1 ? "entry" : "entries"}`;
}
