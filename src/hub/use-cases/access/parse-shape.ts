import type { z } from "zod";
import { type FieldIssue, invalidArgument } from "../../../core/errors.ts";

/** More would not help the reader, and a hostile body could cause many. */
const issuesMax = 20;

/** Parses outside data by its shape, or throws INVALID_ARGUMENT with every wrong field and what is allowed. */
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
      message: "is an unknown field",
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
