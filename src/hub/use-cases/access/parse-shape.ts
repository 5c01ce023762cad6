import type { z } from "zod";
import { type FieldIssue, invalidArgument } from "../../../core/errors.ts";

/** More would not help the person who reads it, and a hostile body could make many. */
const issuesMax = 20;

/** Outside data in its shape, or INVALID_ARGUMENT that names every field at fault and what it may be. */
export function parseShape<T extends z.ZodType>(shape: T, value: unknown): z.infer<T> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first, ...others] = parsed.error.issues.slice(0, issuesMax).flatMap(issuesOf);
  throw invalidArgument(first!, ...others);
}

function issuesOf(issue: z.core.$ZodIssue): FieldIssue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: pathText([...issue.path, key]),
      message: "is not a known field",
    }));
  }
  return [{ path: pathText(issue.path), message: issue.message }];
}

/** `jobs[3].limits.cpu`, as a person would write it. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}
