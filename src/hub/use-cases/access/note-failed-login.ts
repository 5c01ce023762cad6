import { isIPv6 } from "node:net";
import type { Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";
import { noteRateLimit } from "./note-rate-limit.ts";

/** From one address; a forgotten token in a loop must not look like an endless attack. */
const failedLoginsPerMinute = 20;
/** From all addresses together, so that somebody who has many of them cannot fill the log. The rest are refused all the same. */
const recordedPerMinute = 600;

/**
 * Records that somebody was refused before any rule about jobs was checked. Returns 0, or after how many milliseconds
 * that address may try again. A caller with a valid token is never asked to wait, however many others fail.
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

/** Somebody with one IPv6 address has 2^64 of them: the first half of it says who that is. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]`);
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return `${[...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":")}::/64`;
}
