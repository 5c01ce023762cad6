import type { SigningKey } from "./ed25519.ts";
import { activeEntry, hasSigningKey } from "./key-files.ts";
import { maySign, replaceActive } from "./ring-changes.ts";
import { changeRing, type RingEntry, readRing } from "./ring-file.ts";

/**
 * Rotates to the key that the environment gives, if the ring does not know it yet. A key that the ring knows stays what it is,
 * so that a rotation by command is not undone by the next start. Returns the id of the key that was replaced, or null.
 */
export function adoptGivenKey(dir: string, given: SigningKey, nowMs: number): string | null {
  const known = readRing(dir);
  const isIn = (keys: readonly RingEntry[]): boolean => keys.some(({ key_id }) => key_id === given.keyId);
  if (isIn(known.keys)) return null;
  let replaced: string | null = null;
  changeRing(dir, known, (keys) => {
    // Another hub that was given the same key may have been first.
    if (isIn(keys)) return keys;
    replaced = keys.find(({ status }) => status === "active")!.key_id;
    const marked = keys.map((record) => markGiven(dir, record, nowMs));
    return replaceActive(marked, { ...activeEntry(given, nowMs), given: true }, { nowMs });
  });
  return replaced;
}

/** A key that may sign and has no file came from the environment before. Rings of version 0.1 do not say so. */
function markGiven(dir: string, record: RingEntry, nowMs: number): RingEntry {
  return maySign(record, nowMs) && !hasSigningKey(dir, record.key_id) ? { ...record, given: true } : record;
}
