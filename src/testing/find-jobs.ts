import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Job } from "../client/shapes.ts";

const shownMax = 20;

/** The first job of a type whose params contain these; throws an assertion error that shows what was submitted instead. */
export function expectJob(jobs: readonly Job[], type: string, params: unknown): Job {
  const ofType = jobs.filter((job) => job.type === type);
  const found = ofType.find((job) => params === undefined || contains(job.params, params));
  if (found !== undefined) return found;
  if (ofType.length === 0) {
    const types = [...new Set(jobs.map((job) => job.type))];
    const instead = types.length === 0 ? "no job was" : `these types were: ${types.join(", ")}`;
    throw new AssertionError({ message: `no job of type ${type} was submitted; ${instead}` });
  }
  throw new AssertionError({
    message: `${ofType.length} of the jobs submitted are of type ${type}, and none has these params`,
    actual: ofType.slice(0, shownMax).map((job) => job.params),
    expected: params,
    operator: "expectJob",
  });
}

export function expectNoJob(jobs: readonly Job[], type: string): void {
  const ofType = jobs.filter((job) => job.type === type);
  if (ofType.length === 0) return;
  throw new AssertionError({
    message: `${ofType.length} jobs of type ${type} were submitted, and none was expected`,
    actual: ofType.slice(0, shownMax).map((job) => job.params),
    expected: [],
    operator: "expectNoJob",
  });
}

/** Objects may have more members than expected; everything else is equal. */
function contains(actual: unknown, expected: unknown): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item, index) => contains(actual[index], item))
    );
  if (typeof expected !== "object" || expected === null) return isDeepStrictEqual(actual, expected);
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return false;
  return Object.entries(expected).every(
    ([key, value]) => Object.hasOwn(actual, key) && contains((actual as Record<string, unknown>)[key], value),
  );
}
