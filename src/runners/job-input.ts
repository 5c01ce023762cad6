import type { JsonValue } from "../core/json-value.ts";
import { type RunContext, RunFailure } from "./runner.ts";

/** The `job_input` of a job exactly as it was signed, null without one. */
export function jobInputOf({ document, signed }: Pick<RunContext, "document" | "signed">): JsonValue {
  if ("container" in document.run && document.run.container !== undefined) {
    const reason = `this worker has no container ${document.run.container}`;
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
  }
  const run = signed["run"] as { job_input?: JsonValue } | undefined;
  return run?.job_input ?? null;
}
