import { type Identity, mayReadHidden } from "../../core/identity.ts";
import type { StandingOrder } from "../../store/order-store.ts";

/** The job that an order keeps. The values of an environment may be secret. */
export function templateSeenBy(
  identity: Identity,
  order: StandingOrder,
  job: string,
): Record<string, unknown> {
  const seen = JSON.parse(job) as Record<string, unknown> & { run?: Record<string, unknown> };
  if (mayReadHidden(identity, order) || seen.run?.["env"] === undefined) return seen;
  const env = Object.fromEntries(Object.keys(seen.run["env"] as object).map((name) => [name, "***"]));
  return { ...seen, run: { ...seen.run, env } };
}
