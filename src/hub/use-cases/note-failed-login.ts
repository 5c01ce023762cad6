import type { Origin } from "../../core/events.ts";
import type { HubDeps } from "../deps.ts";
import { recordEvent } from "./record-event.ts";

/** From one address. What comes beyond it leaves one note a minute: a flood must not become a flood of records. */
const failedLoginsPerMinute = 20;

/** Somebody was refused before any rule about jobs could be asked. */
export async function noteFailedLogin(
  deps: Pick<HubDeps, "store" | "clock" | "limits">,
  origin: Origin,
  details: { error: string; serial?: string },
): Promise<void> {
  const { ipAddress } = origin;
  const perSecond = failedLoginsPerMinute / 60;
  if (deps.limits.take(`login ${ipAddress}`, perSecond, 1, failedLoginsPerMinute) === 0) {
    await recordEvent(deps, { event: "LOGIN_FAILED", origin, details });
  } else if (deps.limits.take(`login-event ${ipAddress}`, 1 / 60) === 0) {
    await recordEvent(deps, { event: "RATE_LIMIT_HIT", origin, details: { limit: "failed logins" } });
  }
}
