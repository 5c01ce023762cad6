import { WritError } from "../../core/errors.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import { rotationDueMs } from "../../signing/key-ring.ts";
import type { HubDeps } from "../deps.ts";
import { announceKeys, recallLeases, recordKeyRejected, revoke } from "../use-cases/access/manage-keys.ts";
import { recordEvent } from "../use-cases/audit/record-event.ts";

/** What another hub on the same keys has changed is followed within this time. */
const roundMs = 1_000;
const dayMs = 86_400_000;

/**
 * Follows the key ring: takes over what another hub has changed, ends keys whose notice is over, and reminds once a
 * day when the key has served its time.
 */
export function createKeyWatch(deps: HubDeps): Service {
  const { clock, logger } = deps;
  const onError = (error: unknown) => logger.error({ err: error }, "the keys could not be looked at");
  let remindedAt = Number.NEGATIVE_INFINITY;
  return repeat({ name: "key watch", intervalMs: roundMs, clock, onError }, async () => {
    const nowMs = clock.nowMs();
    const isChanged = await takeOver(deps, nowMs);
    if (isChanged) await followChange(deps);
    for (const { key_id: keyId } of deps.keys.overdue(nowMs)) {
      await revoke(deps, { keyId, emergency: true, origin: null });
    }
    if (nowMs - remindedAt >= dayMs && (await remind(deps, nowMs))) remindedAt = nowMs;
  });
}

async function followChange(deps: HubDeps): Promise<void> {
  announceKeys(deps);
  // This hub may have leased with a key that another one was just ending.
  for (const keyId of deps.keys.voided()) await recallLeases(deps, { keyId, origin: null });
}

/** A ring that is refused changes nothing: the hub goes on with the keys that it has, and says so. */
async function takeOver(deps: HubDeps, nowMs: number): Promise<boolean> {
  try {
    const isChanged = deps.keys.reload(nowMs);
    if (isChanged) deps.logger.info({ version: deps.keys.version }, "another hub has changed the keys");
    return isChanged;
  } catch (error) {
    if (!(error instanceof WritError) || error.code !== "KEY_REJECTED") throw error;
    deps.logger.error({ err: error }, "the changed key ring is refused; the keys stay as they were");
    await recordKeyRejected(deps, null, error);
    return false;
  }
}

async function remind(deps: HubDeps, nowMs: number): Promise<boolean> {
  const active = deps.keys.list().find(({ status }) => status === "active");
  if (active === undefined || nowMs - active.not_before < rotationDueMs) return false;
  const ageDays = Math.floor((nowMs - active.not_before) / dayMs);
  deps.logger.warn(
    { key_id: active.key_id, age_days: ageDays },
    "the signing key is due: run writ keys rotate",
  );
  await recordEvent(deps, {
    event: "KEY_ROTATION_DUE",
    origin: null,
    details: { key_id: active.key_id, age_days: ageDays },
  });
  return true;
}
