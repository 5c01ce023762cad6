import { graceMsDefault } from "../core/key-times.ts";
import type { KeyRecord, RingEntry } from "./ring-file.ts";

export type Rotation = {
  nowMs: number;
  graceMs?: number;
  /** All previous keys are revoked when the grace period ends, and every lease that they signed is void then. */
  emergency?: boolean;
};

/** Together with the active key these are four, which is the most that a worker checks on one claim. */
const retiringMax = 3;

export function maySign({ status, not_after }: KeyRecord, nowMs: number): boolean {
  return status === "active" || (status === "retiring" && not_after !== null && not_after > nowMs);
}

/**
 * The active key begins to retire, and this one takes its place. In an emergency it is unknown how long somebody else
 * has had keys, so those that were still retiring end with it. If keys are rotated often, the oldest ends early, so
 * that a claim stays small.
 */
export function replaceActive(
  keys: readonly RingEntry[],
  made: RingEntry,
  { nowMs, graceMs = graceMsDefault, emergency = false }: Rotation,
): RingEntry[] {
  const endsAt = nowMs + graceMs;
  const replaced = keys.map((record): RingEntry => {
    if (record.status === "active") {
      return { ...record, status: "retiring", not_after: endsAt, ...(emergency ? { emergency } : {}) };
    }
    if (record.status === "revoked" || !emergency) return record;
    return { ...record, not_after: Math.min(record.not_after ?? endsAt, endsAt), emergency };
  });
  const late = replaced.filter((record) => maySign(record, nowMs)).slice(0, -retiringMax);
  return [
    ...replaced.map((record) => (late.includes(record) ? { ...record, not_after: nowMs } : record)),
    made,
  ];
}

/** Whether its grace period has ended. A key that was replaced in an emergency is revoked instead. */
export function isToRetire(record: RingEntry, nowMs: number): boolean {
  return record.status === "retiring" && record.emergency !== true && hasEnded(record, nowMs);
}

/** Whether the notice of an emergency has ended for a key that is not revoked yet. */
export function isToRevoke(record: RingEntry, nowMs: number): boolean {
  return record.status !== "revoked" && record.emergency === true && hasEnded(record, nowMs);
}

function hasEnded({ not_after }: RingEntry, nowMs: number): boolean {
  return not_after !== null && not_after <= nowMs;
}
