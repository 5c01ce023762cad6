const dayMs = 86_400_000;

/** For this long after a rotation, claims carry the signatures of both keys. */
export const graceMsDefault = 14 * dayMs;

/** A key that has signed for longer than this should be rotated. */
export const rotationDueMs = 90 * dayMs;
