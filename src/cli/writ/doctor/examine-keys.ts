import type { SigningKey, Writ } from "../../../client/index.ts";
import { hasCode } from "../../../core/errors.ts";
import { isTrustedState } from "../../../core/key-times.ts";
import type { Finding } from "./doctor.ts";
import { hubsOf } from "./examine-hubs.ts";

const rotationDueDays = 90;
const dayMs = 86_400_000;
/** As long as records are in the database by default, where they are found quickly. */
const changesOfDays = 7;
/** A hub takes over what another one has changed within this time. */
const takenOverMs = 10_000;

/** Whether the hub has keys to sign with, whether they are due, and whether they are those of the other hubs. */
export async function examineKeys(
  writ: Writ,
  keys: readonly SigningKey[],
  nowMs: number,
): Promise<Finding[]> {
  const count = keys.filter(({ status }) => isTrustedState(status)).length;
  if (count === 0) return [{ check: "keys", state: "problem", says: "there is no valid signing key" }];
  const missing = await missedChanges(writ, keys, nowMs);
  if (missing.length > 0) {
    const says = `${missing.join(", ")} by another hub on this database, but not in this hub's folder of keys: it is a copy; start this hub with the folder that the others share (WRIT_KEYS_DIR)`;
    return [{ check: "keys", state: "problem", says }];
  }
  const madeAt = keys.find(({ status }) => status === "active")?.not_before ?? 0;
  const ageDays = Math.floor((nowMs - madeAt) / dayMs);
  if (ageDays < rotationDueDays)
    return [
      { check: "keys", state: "ok", says: `valid signing keys: ${count}; the newest is ${ageDays} days old` },
    ];
  const says = `the signing key is ${ageDays} days old; run: writ keys rotate`;
  return [{ check: "keys", state: "warning", says }];
}

/** The newest changes of keys in the log that all hubs of a database share, as far as this hub does not have them. */
async function missedChanges(writ: Writ, keys: readonly SigningKey[], nowMs: number): Promise<string[]> {
  try {
    if ((await hubsOf(writ))?.database.kind !== "postgresql") return [];
    const [made, revoked] = [
      await newest(writ, "KEY_ROTATED", nowMs),
      await newest(writ, "KEY_REVOKED", nowMs),
    ];
    const has = (keyId: string, isWanted: (key: SigningKey) => boolean): boolean =>
      keys.some((key) => key.key_id === keyId && isWanted(key));
    return [
      ...(made === undefined || has(made, () => true) ? [] : [`key ${made} was made`]),
      ...(revoked === undefined || has(revoked, ({ status }) => status === "revoked")
        ? []
        : [`key ${revoked} was revoked`]),
    ];
  } catch (error) {
    // Only administrators of the hub may ask, and for all others there is nothing to repair.
    if (!hasCode(error, "PERMISSION_DENIED")) throw error;
    return [];
  }
}

async function newest(
  writ: Writ,
  event: "KEY_ROTATED" | "KEY_REVOKED",
  nowMs: number,
): Promise<string | undefined> {
  const filter = { event, since: nowMs - changesOfDays * dayMs, until: nowMs - takenOverMs };
  for await (const { details } of writ.audit(filter, { pageSize: 1 })) return String(details["key_id"]);
  return undefined;
}
