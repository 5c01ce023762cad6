import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Lockdown, TenantLockdown } from "../../../store/response-store.ts";
import type { HubDeps } from "../../deps.ts";
import { recallLeases, rotate } from "./manage-keys.ts";
import { isHidden } from "./tenant-wall.ts";

type LockdownRequest = {
  reason: string;
  /** Null if the hub itself locks. */
  userId: string | null;
  origin: Origin | null;
  /** New keys at once, in case the old ones have leaked. */
  rotate: boolean;
};

/**
 * Stops all claims, takes every worker offline and takes back running jobs without charging them. It lasts, even over
 * restarts, until an administrator lifts it. Why: ADR 0014.
 */
export async function lockDown(deps: HubDeps, request: LockdownRequest): Promise<boolean> {
  const { reason, userId, origin } = request;
  const isNew = await deps.store.lockDown({ reason, userId, origin, nowMs: deps.clock.nowMs() });
  if (isNew) deps.logger.error({ reason, user: userId }, "the hub is locked");
  try {
    await enforceLockdown(deps);
  } finally {
    // Only at the first try: a caller that repeats a failed lockdown must not rotate the keys a second time.
    if (isNew && request.rotate) await startEmergencyRotation(deps);
  }
  return isNew;
}

/** Takes back every lease. No new ones are made, because the act that leases checks for the lockdown first. */
export async function enforceLockdown(deps: HubDeps): Promise<void> {
  deps.workers.forgetAll();
  await recallLeases(deps, { keyId: null, origin: null, reason: "the hub is locked" });
  // Waiting claims learn of the lockdown at once.
  deps.dispatcher.wakeAll();
}

/**
 * Workers accept a new key only if a key that they trust has signed it. If the old key ended at once, each of them
 * would have to be enrolled again. No job is leased under it meanwhile, and an administrator can end it sooner.
 */
const noticeMs = 3_600_000;

/** A lockdown must hold even if no new key can be created; an administrator then has to fix that. */
async function startEmergencyRotation(deps: HubDeps): Promise<void> {
  try {
    await rotate(deps, { emergency: true, graceMs: noticeMs, origin: null });
  } catch (error) {
    deps.failures.error(error, "the emergency rotation of the signing key failed");
  }
}

/**
 * Stops all claims of one tenant's jobs until an administrator lifts it. Running jobs continue, and no key changes: a
 * tenant can cause this alone, so it must not affect other tenants.
 */
export async function lockTenant(
  deps: HubDeps,
  request: { tenantId: string; reason: string; userId: string | null; origin: Origin | null },
): Promise<boolean> {
  const isNew = await deps.store.lockTenant({ ...request, nowMs: deps.clock.nowMs() });
  if (!isNew) return false;
  deps.logger.error({ tenant: request.tenantId, reason: request.reason }, "a tenant is locked");
  // Waiting claims learn of the lockdown at once.
  deps.dispatcher.wakeAll();
  return true;
}

/** Lifts the lockdown of one tenant, for its own administrator or the hub's; without a tenant, that of the hub. */
export async function liftLockdown(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; tenantId?: string },
): Promise<void> {
  const { identity, origin, tenantId } = call;
  if (tenantId !== undefined && !isHidden(identity, { tenantId })) {
    if (!(await deps.store.liftTenant({ tenantId, nowMs: deps.clock.nowMs(), origin }))) return;
    deps.logger.warn({ tenant: tenantId, user: identity.userId }, "the lockdown of a tenant was lifted");
    deps.dispatcher.wakeAll();
    return;
  }
  requireHubAdmin(identity, "change a lockdown");
  if (await deps.store.liftLockdown({ nowMs: deps.clock.nowMs(), origin: call.origin })) {
    deps.logger.warn({ user: call.identity.userId }, "the lockdown was lifted");
    deps.workers.forgetAll();
    deps.dispatcher.wakeAll();
  }
}

export function readLockdown(deps: Pick<HubDeps, "store">): Promise<Lockdown | null> {
  return deps.store.getLockdown();
}

/** The locked tenants that the caller may see. */
export async function listLockedTenants(
  deps: Pick<HubDeps, "store">,
  identity: Identity,
): Promise<TenantLockdown[]> {
  return (await deps.store.listLockedTenants()).filter((one) => !isHidden(identity, one));
}

/** Refuses the administrator of one tenant, because the act concerns all tenants. */
export function requireHubAdmin({ tenantId }: Identity, act: string): void {
  if (tenantId === null) return;
  throw new WritError(
    "PERMISSION_DENIED",
    `only an administrator of the hub can ${act}: it concerns all tenants`,
  );
}
