import { WritError } from "../../core/errors.ts";
import type { HubDeps } from "../deps.ts";
import { noteRateLimit, type RateHit } from "./note-rate-limit.ts";

export type CheckedRate = RateHit & {
  perSecond: number;
  count?: number;
  /** What the caller is told, such as `a worker may claim 2000 times a second`. */
  refusal: string;
};

/** Lets a call pass that is within its rate. Any other is refused, and the log hears of the first in each minute. */
export async function checkRate(
  deps: Pick<HubDeps, "store" | "clock" | "limits">,
  rate: CheckedRate,
): Promise<void> {
  const waitMs = deps.limits.take(`${rate.limit} ${rate.subject}`, rate.perSecond, rate.count);
  if (waitMs === 0) return;
  await noteRateLimit(deps, rate);
  throw new WritError("RATE_LIMITED", rate.refusal, { retry_after_sec: Math.ceil(waitMs / 1000) });
}
