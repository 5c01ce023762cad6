import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Lockdown } from "../../../store/response-store.ts";
import type { HubDeps } from "../../deps.ts";
import { recallLeases, rotate } from "./manage-keys.ts";

type LockdownRequest = {
  reason: string;
  /** Null when the hub itself decided. */
  userId: string | null;
  origin: Origin | null;
  /** New keys at once, for when the old ones may be in other hands. */
  rotate: boolean;
};

/**
 * Nothing is claimed, every worker is offline, and what runs is taken back without charge. It lasts, over restarts,
 * until a person lifts it.
 */
export async function lockDown(deps: HubDeps, request: LockdownRequest): Promise<boolean> {
  const { reason, userId, origin } = request;
  const isNew = await deps.store.lockDown({ reason, userId, origin, nowMs: deps.clock.nowMs() });
  if (isNew) deps.logger.error({ reason, user: userId }, "the hub is locked");
  await enforceLockdown(deps);
  if (isNew && request.rotate) await startEmergencyRotation(deps);
  return isNew;
}

/** Takes back every lease that there is. New ones cannot come: the act that leases asks first. */
export async function enforceLockdown(deps: HubDeps): Promise<void> {
  deps.workers.forgetAll();
  await recallLeases(deps, { keyId: null, origin: null, reason: "the hub is locked" });
  // Claims that wait find out at once.
  deps.dispatcher.wakeAll();
}

/**
 * Workers take a new key only on the word of one that they trust. Were the old one gone at once, each of them would have
 * to be enrolled anew; nothing is leased under it meanwhile, and a person may end it sooner.
 */
const noticeMs = 3_600_000;

/** A lockdown must stand even when no new key can be made; then a person has to see to it. */
async function startEmergencyRotation(deps: HubDeps): Promise<void> {
  try {
    await rotate(deps, { emergency: true, graceMs: noticeMs, origin: null });
  } catch (error) {
    deps.logger.error({ err: error }, "the emergency rotation of the signing key failed");
  }
}

export async function liftLockdown(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin },
): Promise<void> {
  requireHubAdmin(call.identity);
  if (await deps.store.liftLockdown({ nowMs: deps.clock.nowMs(), origin: call.origin })) {
    deps.logger.warn({ user: call.identity.userId }, "the lockdown is lifted");
    deps.workers.forgetAll();
    deps.dispatcher.wakeAll();
  }
}

export function readLockdown(deps: Pick<HubDeps, "store">): Promise<Lockdown | null> {
  return deps.store.getLockdown();
}

/** It concerns all tenants, so no tenant's administrator decides it. */
export function requireHubAdmin({ tenantId }: Identity): void {
  if (tenantId === null) return;
  throw new WritError("PERMISSION_DENIED", "a lockdown concerns all tenants, so it is not for one of them");
}
