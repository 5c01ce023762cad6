import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";

/** The key by which a caller is counted: its token or certificate, or else its address. */
export function callerOf({ identity, origin }: { identity: Identity; origin: Origin }): string {
  return identity.tokenId || `address ${origin.ipAddress}`;
}
