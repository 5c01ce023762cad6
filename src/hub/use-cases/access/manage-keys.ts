import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { graceMsDefault } from "../../../core/key-times.ts";
import type { KeyRecord } from "../../../signing/key-ring.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";

type Caller = { identity: Identity; origin: Origin };

/** How many leases one transaction takes back; the rest wait for the next, so that other calls do not. */
const leasesPerTurn = 500;

/**
 * Creates a new key. The old one also signs until the grace period ends. In an emergency the grace period is the
 * notice, and when it ends every lease that an older key signed is void: at once if there is no notice. Why: ADR 0013.
 */
export async function rotateKeys(
  deps: HubDeps,
  call: Caller & { emergency?: boolean; noticeSec?: number },
): Promise<KeyRecord> {
  checkOperator(call.identity);
  const { emergency = false, noticeSec = 0 } = call;
  if (!emergency && call.noticeSec !== undefined) {
    throw invalidArgument({ path: "notice_sec", message: "is allowed only with emergency" });
  }
  return rotate(deps, {
    emergency,
    graceMs: emergency ? noticeSec * 1000 : graceMsDefault,
    origin: call.origin,
  });
}

/** The same without a caller, for the hub's own response to a leaked key. */
export async function rotate(
  deps: HubDeps,
  how: { emergency: boolean; graceMs: number; origin: Origin | null },
): Promise<KeyRecord> {
  const { emergency, graceMs, origin } = how;
  const previous = deps.keys.signing.keyId;
  const ended: string[] = [];
  const made = await guarded(deps, origin, () => {
    const nowMs = deps.clock.nowMs();
    const fresh = deps.keys.rotate({ nowMs, graceMs, emergency });
    // In the same step: otherwise the service that revokes keys after their notice could find these first.
    for (const { key_id } of deps.keys.overdue(nowMs)) {
      deps.keys.revoke(key_id, { nowMs, emergency: true });
      ended.push(key_id);
    }
    return fresh;
  });
  await recordEvent(deps, {
    event: "KEY_ROTATED",
    origin,
    details: { key_id: made.key_id, previous_key_id: previous, grace_ms: graceMs, emergency },
  });
  for (const keyId of ended) await followRevocation(deps, { keyId, emergency: true, origin });
  if (ended.length === 0) announceKeys(deps);
  return made;
}

/**
 * Logs what a key from the environment has changed at the start of this hub, and warns if this hub signs with another
 * key than the rest.
 */
export async function followGivenKey({ keys, ...deps }: HubDeps): Promise<void> {
  const { key_id: active } = keys.active;
  if (keys.replacedKeyId !== null) {
    const details = { key_id: active, previous_key_id: keys.replacedKeyId, grace_ms: graceMsDefault };
    await recordEvent(deps, {
      event: "KEY_ROTATED",
      origin: null,
      details: { ...details, emergency: false },
    });
    deps.logger.info(details, "the hub has rotated to the key in JOB_SIGNING_PRIVATE_KEY");
  }
  if (keys.signing.keyId === active) return;
  const message =
    `the key ${keys.signing.keyId} in JOB_SIGNING_PRIVATE_KEY was replaced by ${active}, which is not here; ` +
    "this hub signs with the old one until that retires: give it the new one";
  deps.logger.warn({ key_id: keys.signing.keyId, active }, message);
  deps.tell(message);
}

/** Revokes a replaced key. With `now`, every lease that it signed is void, and the workers stop those jobs. */
export async function revokeKey(
  deps: HubDeps,
  call: Caller & { keyId: string; now?: boolean },
): Promise<KeyRecord> {
  checkOperator(call.identity);
  return revoke(deps, { keyId: call.keyId, emergency: call.now ?? false, origin: call.origin });
}

type Revocation = { keyId: string; emergency: boolean; origin: Origin | null };

export async function revoke(deps: HubDeps, revocation: Revocation): Promise<KeyRecord> {
  const { keyId, emergency, origin } = revocation;
  const record = await guarded(deps, origin, () =>
    deps.keys.revoke(keyId, { nowMs: deps.clock.nowMs(), emergency }),
  );
  await followRevocation(deps, revocation);
  return record;
}

/** Completes a revocation: takes back the key's leases, records the event and informs the workers. */
async function followRevocation(deps: HubDeps, { keyId, emergency, origin }: Revocation): Promise<void> {
  const { recalled } = emergency ? await recallLeases(deps, { keyId, origin }) : { recalled: 0 };
  await recordEvent(deps, {
    event: "KEY_REVOKED",
    origin,
    details: { key_id: keyId, leases_void: emergency, recalled },
  });
  announceKeys(deps);
}

/**
 * Takes back the leases made with a key, or all leases. The workers are informed; no attempt is charged. Returns how
 * many leases, and how many of their jobs have ended instead of being pending again.
 */
export async function recallLeases(
  deps: Pick<HubDeps, "store" | "clock" | "settings" | "renewals">,
  { keyId, origin, reason }: { keyId: string | null; origin: Origin | null; reason?: string },
): Promise<{ recalled: number; ended: number }> {
  const why = reason ?? `the key ${keyId} that signed its lease is no longer trusted`;
  const sum = { recalled: 0, ended: 0 };
  // Each turn leaves fewer, because a job that was taken back is no longer held.
  for (;;) {
    const turn = await deps.store.recallJobs({
      leaseKeyId: keyId,
      reason: why,
      rules: rulesNow(deps),
      limit: leasesPerTurn,
      origin,
    });
    sum.recalled += turn.recalled;
    sum.ended += turn.ended;
    if (!turn.more) return sum;
  }
}

/** Tells workers to fetch the keys; they trust only those that their own keys have signed. */
export function announceKeys(deps: HubDeps): void {
  deps.dispatcher.tellAll("keys", { version: deps.keys.version });
}

export async function recordKeyRejected(
  deps: Pick<HubDeps, "store" | "clock">,
  origin: Origin | null,
  error: WritError,
): Promise<void> {
  await recordEvent(deps, { event: "KEY_REJECTED", origin, details: { error: error.message } });
}

async function guarded<T>(deps: HubDeps, origin: Origin | null, act: () => T): Promise<T> {
  try {
    return act();
  } catch (error) {
    if (error instanceof WritError && error.code === "KEY_REJECTED")
      await recordKeyRejected(deps, origin, error);
    throw error;
  }
}

/** The keys sign for every tenant, so the administrator of one tenant cannot change them. */
function checkOperator({ tenantId }: Identity): void {
  if (tenantId === null) return;
  throw new WritError(
    "PERMISSION_DENIED",
    "only an administrator of the hub can change keys: they sign for all tenants",
  );
}
