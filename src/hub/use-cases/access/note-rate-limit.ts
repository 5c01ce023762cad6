import type { Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";

export type RateHit = {
  /** The name of the limit. */
  limit:
    | "failed logins"
    | "submits_per_sec"
    | "claims"
    | "refused claims"
    | "heartbeats"
    | "hook calls"
    | "denials"
    | "event streams"
    | "output streams"
    | "command streams"
    | "waiting claims"
    | "MCP calls"
    | "connections";
  /** The counted subject: an address, a tenant, a worker, a token or a certificate. */
  subject: string;
  origin: Origin;
  tenantId?: string | null;
  details?: Record<string, unknown>;
};

/** The flood must not fill the log: one record a minute for each limit and each caller is enough. */
const notesPerSecond = 1 / 60;

/** False if this minute already has its record. */
export async function noteRateLimit(
  deps: Pick<HubDeps, "store" | "clock" | "limits">,
  { limit, subject, origin, tenantId = null, details = {} }: RateHit,
): Promise<boolean> {
  if (deps.limits.take(`note of ${limit} ${subject}`, notesPerSecond) > 0) return false;
  await recordEvent(deps, { event: "RATE_LIMIT_HIT", tenantId, origin, details: { limit, ...details } });
  return true;
}
