import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import { toPlain } from "../core/text/json-value.ts";
import { writePrivateFileSync } from "../runtime/files/private-file.ts";
import { loadVerifyingKey, type VerifyingKey } from "./ed25519.ts";
import { parseJson } from "./parse-json.ts";
import { readSecretFile, withDirectoryLock } from "./secret-file.ts";

/**
 * One public key. Times are milliseconds since the epoch; `not_after` is null while it has no end. A key that is replaced is
 * `retiring` and also signs until `not_after`; then it is `retired`, and its private half no longer exists.
 */
export type KeyRecord = {
  key_id: string;
  public_key: string;
  status: "active" | "retiring" | "retired" | "revoked";
  not_before: number;
  not_after: number | null;
};

/**
 * `emergency`: when its time ends the key is revoked, and every lease that it signed is void. `revocation`: the last
 * text that a revoked key signed. `given`: its private half comes from the environment and is never in the folder.
 */
export type RingEntry = KeyRecord & { emergency?: true; revocation?: string; given?: true };

/** All keys that have ever signed, oldest first. The version increases with every change and is never used twice. */
export type Ring = { version: number; keys: RingEntry[] };

export const ringFile = "ring.json";
const statuses: readonly unknown[] = ["active", "retiring", "retired", "revoked"];

export function readRing(dir: string): Ring {
  const text = readSecretFile(dir, ringFile);
  if (text === null)
    throw rejected(dir, `${ringFile} is missing; if the keys are in another folder, set WRIT_KEYS_DIR`);
  const ring = toPlain(parseJson(text)) as { keys?: unknown; version?: unknown } | null;
  const keys: unknown[] = Array.isArray(ring?.keys) ? ring.keys : [];
  // A ring from before versions existed counts as the first version.
  const version = ring?.version ?? 1;
  if (!Number.isSafeInteger(version) || (version as number) < 1)
    throw rejected(dir, `${ringFile} has no version`);
  if (!keys.every(isRingEntry)) throw rejected(dir, `${ringFile} contains a record that is not a key`);
  if (keys.filter((key) => key.status === "active").length !== 1) {
    throw rejected(dir, `${ringFile} must contain exactly one active key`);
  }
  return { version: version as number, keys };
}

/** All keys that have ever signed, by their ids, to check old signatures with. */
export function readVerifyingKeys(dir: string): ReadonlyMap<string, VerifyingKey> {
  return new Map(readRing(dir).keys.map(({ key_id, public_key }) => [key_id, loadVerifyingKey(public_key)]));
}

/**
 * Reads the ring, changes it and writes it back with the next version, while no other hub can do the same. A ring that
 * is older than the `known` one was put back by somebody: the known one is changed, so that no revoked key becomes
 * valid again.
 */
export function changeRing(dir: string, known: Ring, change: (keys: RingEntry[]) => RingEntry[]): Ring {
  return withDirectoryLock(dir, () => {
    const found = readRing(dir);
    const { version, keys } = found.version < known.version ? known : found;
    const next = { version: version + 1, keys: change(keys) };
    writePrivateFileSync(join(dir, ringFile), ringText(next));
    return readRing(dir);
  });
}

export function ringText(ring: Ring): string {
  return `${JSON.stringify(ring, null, 2)}\n`;
}

/** The public key is loaded again at every read, so an edited ring cannot introduce a weak or renamed key. */
function isRingEntry(value: unknown): value is RingEntry {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    typeof record["public_key"] === "string" &&
    loadVerifyingKey(record["public_key"]).keyId === record["key_id"] &&
    statuses.includes(record["status"]) &&
    Number.isSafeInteger(record["not_before"]) &&
    (record["not_after"] === null || Number.isSafeInteger(record["not_after"])) &&
    (record["emergency"] === undefined || record["emergency"] === true) &&
    (record["revocation"] === undefined || typeof record["revocation"] === "string") &&
    (record["given"] === undefined || record["given"] === true)
  );
}

export function rejected(dir: string, reason: string): WritError {
  return new WritError("KEY_REJECTED", `the key directory ${dir} is refused: ${reason}`, { dir });
}
