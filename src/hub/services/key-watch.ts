import { WritError } from "../../core/errors.ts";
import { rotationDueMs } from "../../core/key-times.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { noteKeyVersion } from "../key-version.ts";
import { announceKeys, recallLeases, recordKeyRejected, revoke } from "../use-cases/access/manage-keys.ts";
import { recordEvent } from "../use-cases/audit/record-event.ts";
import { SharedRing } from "./shared-ring.ts";

/** A change by another hub on the same keys is noticed within this time. */
const roundMs = 1_000;
const dayMs = 86_400_000;

/**
 * Follows the key ring: loads changes by another hub, notices if those went into another folder, retires keys whose
 * grace period has ended, revokes keys whose notice has ended, and reminds once a day when the key is due for rotation.
 * Why: ADR 0013.
 */
export function createKeyWatch(deps: HubDeps): Service {
  const { clock, failures } = deps;
  const onError = (error: unknown) => failures.error(error, "the keys could not be checked");
  let remindedAt = Number.NEGATIVE_INFINITY;
  let notedVersion = deps.keys.version;
  const shared = new SharedRing(deps);
  /** Keys whose notice has ended, until all consequences are completed. */
  const due = new Set<string>();
  /** Keys whose leases were taken back; the start has done that for keys that were void then. */
  const recalled = new Set(deps.keys.voided());
  return repeat({ name: "key watch", intervalMs: roundMs, clock, onError }, async () => {
    const nowMs = clock.nowMs();
    const isChanged = await takeOver(deps, nowMs);
    if (isChanged) await followChange(deps);
    await shared.look();
    if (deps.leadership.isLeader) {
      retire(deps, nowMs);
      for (const { key_id: keyId } of deps.keys.overdue(nowMs)) due.add(keyId);
      for (const keyId of due) {
        await revoke(deps, { keyId, emergency: true, origin: null });
        due.delete(keyId);
      }
    }
    // Repeats the recall of a call that has revoked a key: the store may have failed before the leases were taken back.
    for (const keyId of deps.keys.voided().filter((one) => !recalled.has(one))) {
      if ((await recallLeases(deps, { keyId, origin: null })).recalled > 0) announceKeys(deps);
      recalled.add(keyId);
    }
    if (deps.keys.version !== notedVersion) {
      await noteKeyVersion(deps);
      notedVersion = deps.keys.version;
    }
    if (deps.leadership.isLeader && nowMs - remindedAt >= dayMs && (await remind(deps, nowMs)))
      remindedAt = nowMs;
  });
}

/** No lease needs the key any more: the longest lease is far shorter than the grace period. */
function retire({ keys, logger }: HubDeps, nowMs: number): void {
  for (const keyId of keys.retire(nowMs))
    logger.info({ key_id: keyId }, "a replaced key has retired; its private half is deleted");
}

async function followChange(deps: HubDeps): Promise<void> {
  announceKeys(deps);
  // This hub may have leased with a key that another one was just revoking.
  for (const keyId of deps.keys.voided()) await recallLeases(deps, { keyId, origin: null });
}

/** Loads the changed ring. If the ring is refused, the hub logs it and continues with its present keys. */
async function takeOver(deps: HubDeps, nowMs: number): Promise<boolean> {
  try {
    const isChanged = deps.keys.reload(nowMs);
    if (isChanged) deps.logger.info({ version: deps.keys.version }, "another hub has changed the keys");
    return isChanged;
  } catch (error) {
    if (!(error instanceof WritError) || error.code !== "KEY_REJECTED") throw error;
    deps.failures.error(error, "the changed key ring is refused; the hub continues with its current keys");
    await recordKeyRejected(deps, null, error);
    return false;
  }
}

async function remind(deps: HubDeps, nowMs: number): Promise<boolean> {
  const { active } = deps.keys;
  if (nowMs - active.not_before < rotationDueMs) return false;
  const ageDays = Math.floor((nowMs - active.not_before) / dayMs);
  deps.logger.warn(
    { key_id: active.key_id, age_days: ageDays },
    "the signing key is due for rotation; run: writ keys rotate",
  );
  await recordEvent(deps, {
    event: "KEY_ROTATION_DUE",
    origin: null,
    details: { key_id: active.key_id, age_days: ageDays },
  });
  return true;
}
