import type { z } from "zod";
import { type FieldIssue, invalidArgument, WritError } from "../../../core/errors.ts";
import { Decimal } from "../../../core/text/json-value.ts";
import { plainIssue } from "./plain-issue.ts";

/** The `violation_type` of an error about a path that tried to leave its root. */
export const traversalAttempt = "PATH_TRAVERSAL_ATTEMPT";

/** More would not help the reader, and a hostile body could cause many. */
const issuesMax = 20;

/**
 * Parses outside data by its shape, or throws INVALID_ARGUMENT with every wrong field and what is allowed. The error of a
 * path that tried to leave its root says so in `violation_type`, and has such paths in `paths` and their fields in `fields`.
 */
export function parseShape<T extends z.ZodType>(shape: T, value: unknown): z.infer<T> {
  const parsed = shape.safeParse(value, { error: plainIssue });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, issuesMax);
  const [first, ...others] = issues.flatMap((issue) => issuesOf(issue, value)).slice(0, issuesMax);
  const error = invalidArgument(first!, ...others);
  const attempts = parsed.error.issues.filter(isTraversal).slice(0, issuesMax);
  const paths = attempts.map((issue) => shownPath(valueAt(issue.path, value)));
  if (paths.length === 0) throw error;
  throw new WritError(error.code, error.message, {
    ...error.details,
    violation_type: traversalAttempt,
    paths,
    fields: attempts.map((issue) => pathText(issue.path)),
  });
}

/** Enough of a path to recognise the attempt. */
const pathCharsMax = 200;

/** Removes characters that could end the text early where it is shown. */
function shownPath(path: unknown): string {
  return String(path).slice(0, pathCharsMax).replaceAll("\0", "\\0");
}

function isTraversal(issue: z.core.$ZodIssue): boolean {
  return issue.code === "custom" && issue.params?.["isTraversal"] === true;
}

function issuesOf(issue: z.core.$ZodIssue, value: unknown): FieldIssue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, issuesMax).map((key) => ({
      path: pathText([...issue.path, key]),
      message: "is an unknown field",
    }));
  }
  return [{ path: pathText(issue.path), message: `${issue.message}${foundAt(issue.path, value)}` }];
}

/** Fields that may contain a secret; their values are never repeated. */
const unshown =
  /^(?:env|stdin|ends|params|metadata|steps|prompt|job_input|signature|receipt|.*(?:token|secret|password|key).*)$/i;
const shownCharsMax = 40;

/** The value that was refused, if it is short and plain. */
function foundAt(path: readonly PropertyKey[], value: unknown): string {
  if (path.some((step) => unshown.test(String(step)))) return "";
  const found = valueAt(path, value);
  const plain = found instanceof Decimal ? Number(found) : found;
  if (plain === null || plain === undefined || typeof plain === "object") return "";
  const shown = JSON.stringify(plain) ?? "";
  return shown === "" || shown.length > shownCharsMax ? "" : `; found ${shown}`;
}

function valueAt(path: readonly PropertyKey[], value: unknown): unknown {
  return path.reduce(
    (at: unknown, step) =>
      typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[step] : undefined,
    value,
  );
}

/** `jobs[3].limits.cpu`, as a person would write it. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}
