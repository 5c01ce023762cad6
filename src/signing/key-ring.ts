import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import { createPrivateFileSync, removeFileSync } from "../runtime/private-file.ts";
import {
  generateSigningKey,
  loadSigningKey,
  loadVerifyingKey,
  type SigningKey,
  signText,
  type VerifyingKey,
} from "./ed25519.ts";
import { makeKeys, readMacKey, readSigningKey, signingFile } from "./key-files.ts";
import { keySetText, revocationText, type SignedKeySet, signKeySet } from "./key-set.ts";
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

const dayMs = 86_400_000;

/** For so long after a rotation claims carry the signatures of both keys. */
export const graceMsDefault = 14 * dayMs;

/** With the active one these are four: more signatures on one claim no worker looks at. */
const retiringMax = 3;

/** A key that has signed for longer than this should be replaced. */
export const rotationDueMs = 90 * dayMs;

/**
 * Opens the keys in a directory, or makes them at the first start. The ring is written last, so a directory
 * without one was never in use, and one with a ring must be whole: a lost key is never quietly replaced.
 */
export function openKeyRing(dir: string, options: Options): KeyRing {
  const given = options.givenPrivateKeyPem === undefined ? null : loadSigningKey(options.givenPrivateKeyPem);
  openSecretDirectory(dir);
  if (readSecretFile(dir, ringFile) === null) makeKeys(dir, { given, nowMs: options.nowMs });
  return new KeyRing(dir, { given, nowMs: options.nowMs });
}

/** The hub's keys: those that sign, the one that seals, and the public record of all that ever signed. */
export class KeyRing {
  readonly macKey: Buffer;
  readonly #dir: string;
  readonly #given: SigningKey | null;
  #stamp: string | null;
  #ring: Ring;
  #signing: Map<string, SigningKey>;
  #keySet: SignedKeySet | null = null;

  constructor(dir: string, { given, nowMs }: { given: SigningKey | null; nowMs: number }) {
    this.#dir = dir;
    this.#given = given;
    this.#stamp = stampOf(dir, ringFile);
    this.#ring = readRing(dir);
    const record = this.#ring.keys.find(({ key_id }) => key_id === given?.keyId);
    if (given !== null && (record === undefined || record.status === "revoked")) {
      throw rejected(dir, `the given key ${given.keyId} is not one of its keys, or is revoked`);
    }
    this.#signing = this.#loadKeys(this.#ring, nowMs);
    this.macKey = readMacKey(dir);
  }

  /** The newest key. */
  get signing(): SigningKey {
    return this.#signing.get(this.#ring.keys.find(({ status }) => status === "active")!.key_id)!;
  }

  get version(): number {
    return this.#ring.version;
  }

  list(): KeyRecord[] {
    return this.#ring.keys.map(recordOf);
  }

  /** What revoked keys signed last, for workers that trust nobody who could tell them otherwise. */
  revocations(): { key_id: string; signature: string }[] {
    return this.#ring.keys.flatMap(({ key_id, revocation: signature }) =>
      signature === undefined ? [] : [{ key_id, signature }],
    );
  }

  /** The keys whose signatures count now, newest first. */
  signers(nowMs: number): SigningKey[] {
    const records = this.#ring.keys.filter((record) => maySign(record, nowMs));
    // A clock that was set back may bring up a key that was over when the others were loaded.
    const signers = records.map(({ key_id }) => this.#signing.get(key_id)).filter((key) => key !== undefined);
    return signers.reverse();
  }

  /** The newest key that somebody trusts; the oldest for who names none, and null when none of those named may sign. */
  signerFor(trustedIds: readonly string[], nowMs: number): SigningKey | null {
    const signers = this.signers(nowMs);
    if (trustedIds.length === 0) return signers.at(-1)!;
    return signers.find(({ keyId }) => trustedIds.includes(keyId)) ?? null;
  }

  /** The public half of a key whose signatures count now; null for one that is unknown, revoked or over. */
  verifierFor(keyId: string, nowMs: number): VerifyingKey | null {
    const record = this.#ring.keys.find(({ key_id }) => key_id === keyId);
    return record !== undefined && maySign(record, nowMs) ? loadVerifyingKey(record.public_key) : null;
  }

  /** All keys under one version, signed by every key that may sign: how workers learn of new ones. */
  keySet(nowMs: number): SignedKeySet {
    const text = keySetText({ version: this.#ring.version, keys: this.list() });
    const signers = this.signers(nowMs);
    const isFresh = this.#keySet?.text === text && this.#keySet.signatures.length === signers.length;
    if (!isFresh) this.#keySet = signKeySet(text, signers);
    return this.#keySet!;
  }

  /** Makes a new key. The one before it signs on beside it until the grace is over. */
  rotate({ nowMs, graceMs = graceMsDefault, emergency = false }: Rotation): KeyRecord {
    const { signingKey, privateKeyPem } = generateSigningKey();
    createPrivateFileSync(join(this.#dir, signingFile(signingKey.keyId)), privateKeyPem);
    const made: RingEntry = {
      key_id: signingKey.keyId,
      public_key: signingKey.publicKeyPem,
      status: "active",
      not_before: nowMs,
      not_after: null,
    };
    const grace = { nowMs, graceMs, emergency };
    this.#take(
      this.#changeRing(signingKey.keyId, (keys) => [...retireKeys(keys, grace), made]),
      nowMs,
    );
    return made;
  }

  /** The key signs nothing more, and its private half is removed. The active one cannot go before another is there. */
  revoke(keyId: string, { nowMs, emergency = false }: Omit<Rotation, "graceMs">): KeyRecord {
    const record = this.#ring.keys.find(({ key_id }) => key_id === keyId);
    if (record === undefined) throw new WritError("NOT_FOUND", `there is no key ${keyId}`);
    if (record.status === "active") {
      throw new WritError(
        "STATE_CONFLICT",
        `${keyId} is the key that signs now: rotate first, with --emergency if it is known to others`,
      );
    }
    if (record.status === "revoked" && (record.emergency === true || !emergency)) {
      return recordOf(record);
    }
    const revoked: RingEntry = { ...record, status: "revoked", not_after: nowMs };
    if (emergency) revoked.emergency = true;
    const isKeyThere = readSecretFile(this.#dir, signingFile(keyId)) !== null;
    if (isKeyThere || keyId === this.#given?.keyId) {
      revoked.revocation = signText(this.#loadKey(keyId), revocationText(keyId));
    }
    const swap = (one: RingEntry) => (one.key_id === keyId ? revoked : one);
    this.#take(
      changeRing(this.#dir, (keys) => keys.map(swap)),
      nowMs,
    );
    if (isKeyThere) removeFileSync(join(this.#dir, signingFile(keyId)));
    return recordOf(revoked);
  }

  /** Keys that were to be revoked by now. */
  overdue(nowMs: number): KeyRecord[] {
    return this.#ring.keys.filter(
      ({ status, emergency, not_after }) =>
        status === "retiring" && emergency === true && not_after !== null && not_after <= nowMs,
    );
  }

  /** Revoked keys whose leases are void. */
  voided(): string[] {
    const records = this.#ring.keys.filter(
      ({ status, emergency }) => status === "revoked" && emergency === true,
    );
    return records.map(({ key_id }) => key_id);
  }

  /**
   * Takes over what another hub on the same directory has changed; true when it did. A ring that is refused is
   * refused once, and the keys stay as they were.
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

  /** A key that did not get into the ring leaves nothing behind. */
  #changeRing(madeKeyId: string, change: (keys: RingEntry[]) => RingEntry[]): Ring {
    try {
      return changeRing(this.#dir, change);
    } catch (error) {
      removeFileSync(join(this.#dir, signingFile(madeKeyId)));
      throw error;
    }
  }

  #take(ring: Ring, nowMs: number): void {
    this.#signing = this.#loadKeys(ring, nowMs);
    this.#ring = ring;
    this.#stamp = stampOf(this.#dir, ringFile);
  }

  #loadKeys(ring: Ring, nowMs: number): Map<string, SigningKey> {
    const wanted = ring.keys.filter((record) => maySign(record, nowMs));
    return new Map(wanted.map(({ key_id }) => [key_id, this.#loadKey(key_id)]));
  }

  #loadKey(keyId: string): SigningKey {
    return keyId === this.#given?.keyId ? this.#given : readSigningKey(this.#dir, keyId);
  }
}

type Rotation = {
  nowMs: number;
  graceMs?: number;
  /** The key before it is revoked when the grace is over, and what was leased with it is void then. */
  emergency?: boolean;
};

/** An entry without what only the ring itself needs. */
function recordOf({ key_id, public_key, status, not_before, not_after }: RingEntry): KeyRecord {
  return { key_id, public_key, status, not_before, not_after };
}

function maySign({ status, not_after }: KeyRecord, nowMs: number): boolean {
  return status === "active" || (status === "retiring" && not_after !== null && not_after > nowMs);
}

/** The active key begins to retire. Whoever rotates often ends the oldest early, so that a claim stays small. */
function retireKeys(
  keys: RingEntry[],
  { nowMs, graceMs = graceMsDefault, emergency = false }: Rotation,
): RingEntry[] {
  const retired = keys.map((record): RingEntry => {
    if (record.status !== "active") return record;
    return { ...record, status: "retiring", not_after: nowMs + graceMs, ...(emergency ? { emergency } : {}) };
  });
  const late = retired.filter((record) => maySign(record, nowMs)).slice(0, -retiringMax);
  return retired.map((record) => (late.includes(record) ? { ...record, not_after: nowMs } : record));
}
