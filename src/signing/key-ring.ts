import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import { createPrivateFileSync, removeFileSync } from "../runtime/files/private-file.ts";
import { adoptGivenKey } from "./adopt-given-key.ts";
import {
  generateSigningKey,
  loadSigningKey,
  loadVerifyingKey,
  type SigningKey,
  signText,
  type VerifyingKey,
} from "./ed25519.ts";
import {
  activeEntry,
  dropPrivateHalves,
  hasSigningKey,
  makeKeys,
  readMacKey,
  readSigningKey,
  signingFile,
} from "./key-files.ts";
import { keySetText, revocationText, type SignedKeySet, signKeySet } from "./key-set.ts";
import { isToRetire, isToRevoke, maySign, type Rotation, replaceActive } from "./ring-changes.ts";
import {
  changeRing,
  type KeyRecord,
  type Ring,
  type RingEntry,
  readRing,
  rejected,
  ringFile,
} from "./ring-file.ts";
import { openSecretDirectory, readSecretFile, stampOf } from "./secret-file.ts";

export type { KeyRecord } from "./ring-file.ts";

type Options = { nowMs: number; givenPrivateKeyPem?: string | undefined };

/**
 * Opens the keys in a directory, or creates them at the first start. The ring is written last: a directory without a
 * ring was never used, and one with a ring must be complete, because a lost key is never replaced silently.
 */
export function openKeyRing(dir: string, options: Options): KeyRing {
  const given = options.givenPrivateKeyPem === undefined ? null : loadSigningKey(options.givenPrivateKeyPem);
  openSecretDirectory(dir);
  const { nowMs } = options;
  if (readSecretFile(dir, ringFile) === null) makeKeys(dir, { given, nowMs });
  const replacedKeyId = given === null ? null : adoptGivenKey(dir, given, nowMs);
  return new KeyRing(dir, { given, nowMs, replacedKeyId });
}

type Opened = { given: SigningKey | null; nowMs: number; replacedKeyId: string | null };

/** The hub's keys: those that sign, the one that seals, and the public record of all that have ever signed. */
export class KeyRing {
  readonly macKey: Buffer;
  /** The key that the one from the environment has replaced when the ring was opened. */
  readonly replacedKeyId: string | null;
  readonly #dir: string;
  readonly #given: SigningKey | null;
  #stamp: string | null;
  #ring: Ring;
  #signing: Map<string, SigningKey>;
  #keySet: SignedKeySet | null = null;

  constructor(dir: string, { given, nowMs, replacedKeyId }: Opened) {
    this.#dir = dir;
    this.#given = given;
    this.replacedKeyId = replacedKeyId;
    this.#stamp = stampOf(dir, ringFile);
    this.#ring = readRing(dir);
    const record = this.#ring.keys.find(({ key_id }) => key_id === given?.keyId);
    if (record?.status === "revoked")
      throw rejected(
        dir,
        `the key ${record.key_id} in JOB_SIGNING_PRIVATE_KEY is revoked; give another, or none`,
      );
    // Without the active key a hub may run only if somebody has given it another one that may sign.
    if (given === null) this.#loadKey(this.active.key_id);
    this.#signing = this.#loadKeys(this.#ring, nowMs);
    this.macKey = readMacKey(dir);
    dropPrivateHalves(dir, this.#ring.keys);
  }

  /** The newest key. */
  get active(): KeyRecord {
    return recordOf(this.#ring.keys.find(({ status }) => status === "active")!);
  }

  /** The newest key whose private half is here: the active one, unless that was given to other hubs only. */
  get signing(): SigningKey {
    const { key_id } = this.#ring.keys.findLast((record) => this.#signing.has(record.key_id))!;
    return this.#signing.get(key_id)!;
  }

  get version(): number {
    return this.#ring.version;
  }

  list(): KeyRecord[] {
    return this.#ring.keys.map(recordOf);
  }

  /** The last text that each revoked key signed, for workers that trust no other key. */
  revocations(): { key_id: string; signature: string }[] {
    return this.#ring.keys.flatMap(({ key_id, revocation: signature }) =>
      signature === undefined ? [] : [{ key_id, signature }],
    );
  }

  /** The keys that may sign now, newest first. */
  signers(nowMs: number): SigningKey[] {
    const records = this.#ring.keys.filter((record) => maySign(record, nowMs));
    // After the clock is set back, a key may be valid that had expired when the others were loaded.
    const signers = records.map(({ key_id }) => this.#signing.get(key_id)).filter((key) => key !== undefined);
    return signers.reverse();
  }

  /** The newest key that the worker trusts; the oldest if it names none, and null if none of those named may sign. */
  signerFor(trustedIds: readonly string[], nowMs: number): SigningKey | null {
    const signers = this.signers(nowMs);
    if (trustedIds.length === 0) return signers.at(-1) ?? null;
    return signers.find(({ keyId }) => trustedIds.includes(keyId)) ?? null;
  }

  /** The public key with this id, if it may sign now; null if it is unknown, revoked or expired. */
  verifierFor(keyId: string, nowMs: number): VerifyingKey | null {
    const record = this.#ring.keys.find(({ key_id }) => key_id === keyId);
    return record !== undefined && maySign(record, nowMs) ? loadVerifyingKey(record.public_key) : null;
  }

  /** All keys under one version, signed by every key that may sign. Workers learn of new keys from it. */
  keySet(nowMs: number): SignedKeySet {
    const text = keySetText({ version: this.#ring.version, keys: this.list() });
    const signers = this.signers(nowMs);
    const isFresh = this.#keySet?.text === text && this.#keySet.signatures.length === signers.length;
    if (!isFresh) this.#keySet = signKeySet(text, signers);
    return this.#keySet!;
  }

  /** Creates a new key. The previous one also signs until the grace period ends. */
  rotate(rotation: Rotation): KeyRecord {
    const { nowMs } = rotation;
    const { signingKey, privateKeyPem } = generateSigningKey();
    createPrivateFileSync(join(this.#dir, signingFile(signingKey.keyId)), privateKeyPem);
    const made = activeEntry(signingKey, nowMs);
    const ring = this.#changeRing(signingKey.keyId, (keys) => replaceActive(keys, made, rotation));
    this.#take(ring, nowMs);
    return made;
  }

  /** Ends the keys whose grace period is over: their private halves are deleted. Returns their ids. */
  retire(nowMs: number): string[] {
    const ended = this.#ring.keys.filter((record) => isToRetire(record, nowMs));
    if (ended.length === 0) return [];
    const change = (record: RingEntry): RingEntry =>
      isToRetire(record, nowMs) ? { ...record, status: "retired" } : record;
    this.#take(
      changeRing(this.#dir, this.#ring, (keys) => keys.map(change)),
      nowMs,
    );
    return ended.map(({ key_id }) => key_id);
  }

  /** Revokes a key: it signs nothing more, and its private half is deleted. The active key must be replaced first. */
  revoke(keyId: string, { nowMs, emergency = false }: Omit<Rotation, "graceMs">): KeyRecord {
    const record = this.#ring.keys.find(({ key_id }) => key_id === keyId);
    if (record === undefined) throw new WritError("NOT_FOUND", `there is no key ${keyId}`);
    if (record.status === "active") {
      throw new WritError(
        "STATE_CONFLICT",
        `${keyId} is the active key; run \`writ keys rotate\` first, with --emergency if it may have leaked`,
      );
    }
    if (record.status === "revoked" && (record.emergency === true || !emergency)) {
      return recordOf(record);
    }
    const revoked: RingEntry = { ...record, status: "revoked", not_after: nowMs };
    if (emergency) revoked.emergency = true;
    if (hasSigningKey(this.#dir, keyId) || keyId === this.#given?.keyId) {
      revoked.revocation = signText(this.#loadKey(keyId), revocationText(keyId));
    }
    const swap = (one: RingEntry) => (one.key_id === keyId ? revoked : one);
    this.#take(
      changeRing(this.#dir, this.#ring, (keys) => keys.map(swap)),
      nowMs,
    );
    return recordOf(revoked);
  }

  /** Keys whose revocation is due. */
  overdue(nowMs: number): KeyRecord[] {
    return this.#ring.keys.filter((record) => isToRevoke(record, nowMs));
  }

  /** Revoked keys whose leases are void. */
  voided(): string[] {
    const records = this.#ring.keys.filter(
      ({ status, emergency }) => status === "revoked" && emergency === true,
    );
    return records.map(({ key_id }) => key_id);
  }

  /**
   * Loads what another hub on the same directory has changed; returns true if there was a change. A ring that is
   * refused is reported once, and the keys stay as they were.
   */
  reload(nowMs: number): boolean {
    const stamp = stampOf(this.#dir, ringFile);
    if (stamp === this.#stamp) return false;
    this.#stamp = stamp;
    const ring = readRing(this.#dir);
    if (ring.version < this.#ring.version) {
      throw rejected(
        this.#dir,
        `${ringFile} went back from version ${this.#ring.version} to ${ring.version}`,
      );
    }
    if (ring.version === this.#ring.version) return false;
    this.#take(ring, nowMs);
    return true;
  }

  /** A key that was not added to the ring leaves no file behind. */
  #changeRing(madeKeyId: string, change: (keys: RingEntry[]) => RingEntry[]): Ring {
    try {
      return changeRing(this.#dir, this.#ring, change);
    } catch (error) {
      removeFileSync(join(this.#dir, signingFile(madeKeyId)));
      throw error;
    }
  }

  #take(ring: Ring, nowMs: number): void {
    this.#signing = this.#loadKeys(ring, nowMs);
    this.#ring = ring;
    this.#stamp = stampOf(this.#dir, ringFile);
    dropPrivateHalves(this.#dir, ring.keys);
  }

  /** A key that was given to another hub cannot sign here; any other whose file is missing is lost, and that is an error. */
  #loadKeys(ring: Ring, nowMs: number): Map<string, SigningKey> {
    const wanted = ring.keys.filter((record) => maySign(record, nowMs));
    const here = wanted.filter(({ given, key_id }) => given !== true || key_id === this.#given?.keyId);
    if (here.length === 0) {
      const { key_id } = wanted.at(-1)!;
      throw rejected(
        this.#dir,
        `no key that may sign is here; set JOB_SIGNING_PRIVATE_KEY to the key ${key_id}`,
      );
    }
    return new Map(here.map(({ key_id }) => [key_id, this.#loadKey(key_id)]));
  }

  #loadKey(keyId: string): SigningKey {
    return keyId === this.#given?.keyId ? this.#given : readSigningKey(this.#dir, keyId);
  }
}

/** An entry without the fields that only the ring needs. */
function recordOf({ key_id, public_key, status, not_before, not_after }: RingEntry): KeyRecord {
  return { key_id, public_key, status, not_before, not_after };
}
