import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Lockdown, TenantLockdown } from "../../../store/response-store.ts";
import type { HubDeps } from "../../deps.ts";
import { recallLeases, rotate } from "./manage-keys.ts";
import { isHidden } from "./tenant-wall.ts";

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

/**
 * Nothing of one tenant is claimed until a person lifts it. Nothing that runs is stopped, and no key is changed: a tenant
 * can bring this about alone, so it must cost nobody else anything.
 */
export async function lockTenant(
  deps: HubDeps,
  request: { tenantId: string; reason: string; userId: string | null; origin: Origin | null },
): Promise<boolean> {
  const isNew = await deps.store.lockTenant({ ...request, nowMs: deps.clock.nowMs() });
  if (!isNew) return false;
  deps.logger.error({ tenant: request.tenantId, reason: request.reason }, "a tenant is locked");
  // Claims that wait find out at once.
  deps.dispatcher.wakeAll();
  return true;
}

/** Of one tenant, by its own administrator or the hub's; without a tenant, of the hub. */
export async function liftLockdown(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; tenantId?: string },
): Promise<void> {
  const { identity, origin, tenantId } = call;
  if (tenantId !== undefined && (identity.tenantId === null || identity.tenantId === tenantId)) {
    if (!(await deps.store.liftTenant({ tenantId, nowMs: deps.clock.nowMs(), origin }))) return;
    deps.logger.warn({ tenant: tenantId, user: identity.userId }, "the lockdown of a tenant is lifted");
    deps.dispatcher.wakeAll();
    return;
  }
  requireHubAdmin(identity);
  if (await deps.store.liftLockdown({ nowMs: deps.clock.nowMs(), origin: call.origin })) {
    deps.logger.warn({ user: call.identity.userId }, "the lockdown is lifted");
    deps.workers.forgetAll();
    deps.dispatcher.wakeAll();
  }
}

export function readLockdown(deps: Pick<HubDeps, "store">): Promise<Lockdown | null> {
  return deps.store.getLockdown();
}

/** The locked tenants that the caller may know of. */
export async function listLockedTenants(
  deps: Pick<HubDeps, "store">,
  identity: Identity,
): Promise<TenantLockdown[]> {
  return (await deps.store.listLockedTenants()).filter((one) => !isHidden(identity, one));
}

/** It concerns all tenants, so no tenant's administrator decides it. */
export function requireHubAdmin({ tenantId }: Identity): void {
  if (tenantId === null) return;
  throw new WritError("PERMISSION_DENIED", "a lockdown concerns all tenants, so it is not for one of them");
}
