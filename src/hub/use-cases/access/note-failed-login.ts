import { isIPv6 } from "node:net";
import type { Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";
import { noteRateLimit } from "./note-rate-limit.ts";

/** The failed logins of one address that count; a loop with an old token must not look like an endless attack. */
const failedLoginsPerMinute = 20;
/**
 * The recorded failures of all addresses together, so that a caller with many addresses cannot fill the log. The rest
 * are refused without a record.
 */
const recordedPerMinute = 600;

/**
 * Records a failed login. Returns 0, or the milliseconds until that address may try again. A caller with a valid token
 * never has to wait because of failures of others.
 */
export async function noteFailedLogin(
  deps: Pick<HubDeps, "store" | "clock" | "limits">,
  origin: Origin,
  details: { error: string; serial?: string },
): Promise<number> {
  const limit = "failed logins";
  const subject = networkOf(String(origin.ipAddress));
  const waitMs = takeOne(deps, `${limit} ${subject}`, failedLoginsPerMinute);
  if (waitMs > 0) await noteRateLimit(deps, { limit, subject, origin });
  else if (takeOne(deps, "recorded failed logins", recordedPerMinute) === 0)
    await recordEvent(deps, { event: "LOGIN_FAILED", origin, details });
  else await noteRateLimit(deps, { limit, subject: "", origin, details: { from: "many addresses" } });
  return waitMs;
}

function takeOne({ limits }: Pick<HubDeps, "limits">, name: string, perMinute: number): number {
  return limits.take(name, perMinute / 60, 1, perMinute);
}

/** The owner of one IPv6 address has 2^64 of them, with the same first half. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return `${[...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":")}::/64`;
}
