const dayMs = 86_400_000;

/** For this long after a rotation, claims carry the signatures of both keys. */
export const graceMsDefault = 14 * dayMs;

/** Whether a worker should trust a key in this state: a retired one signs nothing more, and a revoked one may be known to others. */
export function isTrustedState(status: string): boolean {
  return status === "active" || status === "retiring";
}

/** A key that has signed for longer than this should be rotated. */
export const rotationDueMs = 90 * dayMs;
