import { type Edit, type Mutant, mutantsBy } from "./mutant.ts";

/**
 * The same of a file of the launcher: a step whose failure nothing notices, or that is never taken, and an `&&` without
 * one of its parts. What is taken away is still compiled, because a name that is not used would be an error of its own.
 */
export function findCMutants(path: string, source: string): Mutant[] {
  return mutantsBy(path, source, [...refusals(source), ...successes(source), ...steps(source)]);
}

/** `if (…) return fail(…)` and `if (…) fatal(…)`, also in braces: never refused. */
function refusals(source: string): Edit[] {
  return conditions(source)
    .filter(({ end }) => /^\)\s*\{?\s*(?:return (?:fail\(|false;|-1;)|fatal\()/.test(source.slice(end)))
    .map(({ start, end }) => ({ start, end, by: `0 && (${source.slice(start, end)})`, how: "never" }));
}

/** What stands between the parentheses of each `if`. */
function conditions(source: string): { start: number; end: number }[] {
  return [...source.matchAll(/\bif \(/g)].map(({ index, 0: opening }) => {
    const start = index + opening.length;
    return { start, end: closing(source, start) };
  });
}

/** `if (… == 0) return true; return fail(…);`: taken as done. */
function successes(source: string): Edit[] {
  return conditions(source)
    .filter(({ end }) => /^\) return true;\s*return fail\(/.test(source.slice(end)))
    .map(({ start, end }) => ({ start, end, by: `1 || (${source.slice(start, end)})`, how: "skipped" }));
}

/** `&& step(…)` in a row of steps: taken as done. */
function steps(source: string): Edit[] {
  return [...source.matchAll(/&& (?=!?\w+\()/g)].flatMap(({ index, 0: and }) => {
    const start = index + and.length;
    const end = closing(source, source.indexOf("(", start) + 1) + 1;
    // What follows a call, as in `read(…) == 1`, belongs to it.
    if (!/^\s*(?:\/\/[^\n]*\n\s*)?(?:&&|;|\))/.test(source.slice(end))) return [];
    return [{ start, end, by: `(1 || ${source.slice(start, end)})`, how: "skipped" }];
  });
}

/** Where the parenthesis that is open at this place ends. */
function closing(source: string, from: number): number {
  let depth = 1;
  for (let at = from; at < source.length; at++) {
    if (source[at] === "(") depth++;
    if (source[at] === ")" && --depth === 0) return at;
  }
  throw new Error("a parenthesis is not closed");
}
