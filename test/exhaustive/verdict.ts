import { isDeepStrictEqual } from "node:util";
import { WritError } from "../../src/core/errors.ts";

/** Everything that is stored: the rows of each table as one text. */
export type Stored = Record<string, string>;

/** What a caller was told. */
export type Outcome = { answer: unknown } | { error: unknown };

/** What an act leaves behind, and what its caller is told. */
export type Result = { stored: Stored; outcome: Outcome };

export type Told = "done" | "nothing changed" | "not known";

/** What the caller may conclude. Throws if it is an error that no fault of a database should lead to. */
export function toldBy(outcome: Outcome, expected: Outcome): Told {
  if (isSameOutcome(outcome, expected)) return "done";
  if ("answer" in outcome) throw new Error(`another answer than without the fault: ${show(outcome)}`);
  const { error } = outcome;
  if (!(error instanceof WritError) || error.code !== "STORE_UNAVAILABLE")
    throw new Error(`an error that does not name the database: ${show(outcome)}`);
  return /is not known/.test(error.message) ? "not known" : "nothing changed";
}

export function isSameOutcome(one: Outcome, other: Outcome): boolean {
  if ("answer" in one && "answer" in other) return isDeepStrictEqual(one.answer, other.answer);
  return "error" in one && "error" in other && codeAnd(one.error) === codeAnd(other.error);
}

function codeAnd(error: unknown): string {
  return error instanceof WritError ? `${error.code}: ${error.message}` : String(error);
}

export function show(outcome: Outcome): string {
  if ("error" in outcome) {
    const { error } = outcome;
    const reason = error instanceof WritError ? error.details?.["reason"] : null;
    return `${codeAnd(error)} (${reason ?? "no reason"})`;
  }
  return JSON.stringify(outcome.answer) ?? "undefined";
}

/** The tables that differ. */
export function differences(one: Stored, other: Stored): string[] {
  return Object.keys(one).filter((name) => one[name] !== other[name]);
}

export function isSame(one: Stored, other: Stored): boolean {
  return differences(one, other).length === 0;
}

/** The rows by which a state differs from each of those that are allowed. */
export function describeDifference(found: Stored, allowed: Record<string, Stored>): string {
  return Object.entries(allowed)
    .map(
      ([name, stored]) =>
        `not ${name} (${differences(found, stored)
          .map((table) => describeRows(table, found[table]!, stored[table]!))
          .join("; ")})`,
    )
    .join(", ");
}

function describeRows(table: string, found: string, expected: string): string {
  const [these, those] = [found.split("\n"), expected.split("\n")];
  const few = (rows: string[]) => rows.slice(0, 2).join(" ").slice(0, 700);
  const [more, less] = [
    these.filter((row) => !those.includes(row)),
    those.filter((row) => !these.includes(row)),
  ];
  return `${table}: ${more.length} rows too many ${few(more)}, ${less.length} too few ${few(less)}`;
}
