import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { noteRateLimit, type RateHit } from "./note-rate-limit.ts";

export type CheckedRate = RateHit & {
  perSecond: number;
  count?: number;
  /** How many calls may come at once; a second's worth by default. */
  burst?: number;
  /** The message to the caller, such as `a worker may claim 2000 times a second`. */
  refusal: string;
};

type Deps = Pick<HubDeps, "store" | "clock" | "limits">;

/** Refuses a call beyond its rate, and records the first refusal in each minute. */
export async function checkRate(deps: Deps, rate: CheckedRate): Promise<void> {
  const { limit, subject, perSecond, count, burst } = rate;
  const waitMs = deps.limits.take(`${limit} ${subject}`, perSecond, count, burst);
  if (waitMs === 0) return;
  await noteRateLimit(deps, rate);
  throw new WritError("RATE_LIMITED", rate.refusal, { retry_after_sec: Math.ceil(waitMs / 1000) });
}

/** The same for a call of a worker, which is counted and recorded by its name. */
export function checkWorkerRate(
  deps: Deps,
  { identity, origin, workerId }: { identity: Identity; origin: Origin; workerId: string },
  rate: Pick<CheckedRate, "limit" | "perSecond" | "refusal">,
): Promise<void> {
  const who = { subject: workerId, tenantId: identity.tenantId, origin, details: { worker_id: workerId } };
  return checkRate(deps, { ...rate, ...who });
}
