import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

/**
 * What is allowed at a key, as the end of a sentence that starts with the key. It never has the value, which may be the
 * token.
 */
export function problemText(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(issue.input, issue.expected);
    case "invalid_union":
      return wrongType(issue.input, "text or a list of texts");
    case "invalid_value":
      return `${lead(issue.input)}must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.join(", ")}`;
    case "invalid_key":
      return issue.issues[0]?.message;
    case "too_small":
      return `must have at least ${count(Number(issue.minimum), issue.origin)}`;
    case "too_big":
      return `must have at most ${count(Number(issue.maximum), issue.origin)}`;
    case "unrecognized_keys":
      return knownHere(issue);
    default:
      return undefined;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping of keys to values",
  record: "a mapping of names to values",
};

function wrongType(input: unknown, expected: string): string {
  const isUnquoted = expected === "string" && ["number", "boolean"].includes(typeof input);
  const quotes = isUnquoted ? "; put it in quotes" : "";
  return `${lead(input)}must be ${typeNames[expected] ?? expected}${quotes}`;
}

/** A key with nothing behind it is null in YAML. */
function lead(input: unknown): string {
  if (input === undefined) return "is missing; it ";
  return input === null ? "has no value; it " : "";
}

function count(size: number, origin: string): string {
  const unit = origin === "string" ? "character" : origin === "array" ? "entry" : "";
  const units = unit === "entry" ? "entries" : `${unit}s`;
  return `${size} ${size === 1 ? unit : units}`;
}

/** The keys of the mapping that has an unknown one. */
function knownHere(issue: Issue): string | undefined {
  const shape = (issue.inst as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def?.shape;
  return shape === undefined ? undefined : `known here: ${Object.keys(shape).join(", ")}`;
}
