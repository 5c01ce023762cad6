import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";

/** By what a caller is counted: its token or certificate. Somebody without a token is known by the address. */
export function callerOf({ identity, origin }: { identity: Identity; origin: Origin }): string {
  return identity.tokenId || `address ${origin.ipAddress}`;
}
