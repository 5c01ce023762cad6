import type { JsonValue } from "../core/text/json-value.ts";
import type { RunContext } from "./runner.ts";

/** The `job_input` of a job exactly as it was signed, null without one. */
export function jobInputOf({ signed }: Pick<RunContext, "signed">): JsonValue {
  const run = signed["run"] as { job_input?: JsonValue } | undefined;
  return run?.job_input ?? null;
}
