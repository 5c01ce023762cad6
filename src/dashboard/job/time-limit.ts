import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { durationText } from "../parts/format.ts";

type Limited = Pick<JobView, "timeout_sec" | "submitted_timeout_sec">;

/** The limit as submitted. Each timeout doubles the limit of the next attempt; a retry by a person resets it. */
export function submittedTimeoutSec({ timeout_sec, submitted_timeout_sec = timeout_sec }: Limited): number {
  return submitted_timeout_sec;
}

/** `5m 00s each`, or `5m 00s each as submitted, 10m 00s now: a timeout doubles it`. */
export function timeLimitText(job: Limited): string {
  const submitted = submittedTimeoutSec(job);
  if (submitted === 0) return "no time limit";
  const each = `${durationText(submitted * 1000)} each`;
  if (job.timeout_sec === submitted) return each;
  return `${each} as submitted, ${durationText(job.timeout_sec * 1000)} now: a timeout doubles it`;
}
