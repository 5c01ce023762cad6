import type { z } from "zod";
import { WritError } from "../../../core/errors.ts";

/** More would not help the person who reads it, and a hostile body could make many. */
const issuesMax = 20;

/** Outside data in its shape, or INVALID_ARGUMENT that names every field at fault and what it may be. */
export function parseShape<T extends z.ZodType>(shape: T, value: unknown): z.infer<T> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, issuesMax).flatMap(issuesOf);
  const first = issues[0]!;
  throw new WritError("INVALID_ARGUMENT", `${first.path || "the request"}: ${first.message}`, { issues });
}

type Issue = { path: string; message: string };

function issuesOf(issue: z.core.$ZodIssue): Issue[] {
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
