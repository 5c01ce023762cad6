import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Fence } from "../../../core/jobs/change.ts";
import { sha256Hex } from "../../../signing/mac.ts";

/**
 * A worker must give its attempt and token; only an administrator of the hub may leave them out to mean the current
 * one. Why: ADR 0007.
 */
export function fenceOf(
  identity: Identity,
  given: { worker_id: string; attempt?: number; token?: string },
): Fence {
  // Otherwise an administrator of one tenant could act for another tenant's attempt without its token.
  if (identity.role !== "admin" || identity.tenantId !== null) {
    const missing = (["attempt", "token"] as const).filter((field) => given[field] === undefined);
    const [first, ...others] = missing.map((path) => ({ path, message: "is required; it is in the lease" }));
    if (first !== undefined) throw invalidArgument(first, ...others);
  }
  return {
    workerId: given.worker_id,
    attempt: given.attempt ?? null,
    tokenHash: given.token === undefined ? null : sha256Hex(given.token),
  };
}
