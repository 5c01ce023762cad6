import type { Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";
import { noteRateLimit } from "./note-rate-limit.ts";

/** From one address; a forgotten token in a loop must not look like an endless attack. */
const failedLoginsPerMinute = 20;

/**
 * Records that somebody was refused before any rule about jobs was checked. Returns 0, or after how many milliseconds
 * that address may try again.
 */
export async function noteFailedLogin(
  deps: Pick<HubDeps, "store" | "clock" | "limits">,
  origin: Origin,
  details: { error: string; serial?: string },
): Promise<number> {
  const limit = "failed logins";
  const subject = String(origin.ipAddress);
  const perSecond = failedLoginsPerMinute / 60;
  const waitMs = deps.limits.take(`${limit} ${subject}`, perSecond, 1, failedLoginsPerMinute);
  if (waitMs === 0) await recordEvent(deps, { event: "LOGIN_FAILED", origin, details });
  else await noteRateLimit(deps, { limit, subject, origin });
  return waitMs;
}
