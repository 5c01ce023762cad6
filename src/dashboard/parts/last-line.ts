import type { JobView } from "../../contract/shapes/view-shapes.ts";

type Failure = JobView["fail_history"][number];

/** The last line that a failed attempt wrote, unless its reason says the same. */
export function lastLineOf(failure: Failure | null | undefined): string | undefined {
  const line = failure?.last_line;
  return line === undefined || failure?.reason.includes(line) ? undefined : line;
}
