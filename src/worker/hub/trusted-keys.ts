import { WritError } from "../../core/errors.ts";
import { Turns } from "../../runtime/clock/turns.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";
import { loadVerifyingKey, type VerifyingKey, verifyText } from "../../signing/ed25519.ts";
import {
  type KeySet,
  keySetText,
  openKeySet,
  parseKeySet,
  revocationText,
  type SignedKeySet,
} from "../../signing/key-set.ts";

type Options = {
  /** The file with the newest key set. */
  path: string;
  /** In PEM; the root of trust from the worker's set-up. */
  roots: readonly string[];
  nowMs: () => number;
};

type Revocation = { key_id: string; signature: string };
type Kept = { set: KeySet | null; revoked: string[] };

/** More keys than a hub collects in twenty years. */
const revocationsMax = 256;

/** How far the clocks of hub and worker may differ. */
const skewMs = 30_000;

/**
 * The keys that this worker trusts. A new key set is accepted only if a key that is trusted now has signed it, and only
 * if it is newer than the one before; a key that it lists as revoked is dropped at once. With roots the set is kept
 * across restarts. Without them, the hub's first keys are the roots for as long as this process runs. Why: ADR 0013.
 */
export class TrustedKeys {
  readonly #options: Options;
  /** Changes run one after the other; otherwise the later of two would undo the earlier one. */
  readonly #turns = new Turns(1);
  #roots: VerifyingKey[];
  #set: KeySet | null;
  #revoked: Set<string>;

  static async open(options: Options): Promise<TrustedKeys> {
    const text = options.roots.length === 0 ? null : await readPrivateFile(options.path);
    return new TrustedKeys(
      options,
      text === null ? { set: null, revoked: [] } : readKept(options.path, text),
    );
  }

  private constructor(options: Options, { set, revoked }: Kept) {
    this.#options = options;
    this.#roots = options.roots.map(loadVerifyingKey);
    this.#set = set;
    this.#revoked = new Set(revoked);
  }

  get version(): number {
    return this.#set?.version ?? 0;
  }

  /** Whether there are keys to verify a key set with. */
  get hasRoots(): boolean {
    return this.#roots.length > 0;
  }

  /** The key ids for the registration. A worker that trusts none lists the old ones, and so gets no jobs. */
  names(): string[] {
    const trusted = this.trusted();
    return (trusted.length > 0 ? trusted : this.#roots).map(({ keyId }) => keyId);
  }

  /** A root that the key set does not contain was added later; one that it contains has the state of the set. */
  trusted(): VerifyingKey[] {
    const nowMs = this.#options.nowMs();
    const known = this.#set?.keys ?? [];
    const good = known.filter(
      ({ status, not_after }) => status !== "revoked" && (not_after === null || not_after + skewMs > nowMs),
    );
    const unknown = this.#roots.filter(({ keyId }) => !known.some(({ key_id }) => key_id === keyId));
    const all = [...unknown, ...good.map(({ public_key }) => this.#load(public_key))];
    return all.filter(({ keyId }) => !this.#revoked.has(keyId));
  }

  /** Trusts these keys, because no roots were given and the channel to the hub is the only proof. */
  pin(publicKeys: readonly string[]): void {
    if (this.#roots.length > 0) throw new Error("there are already roots");
    this.#roots = publicKeys.map(loadVerifyingKey);
  }

  /** True if the set was accepted. A set that no trusted key has signed is refused; an older one is ignored. */
  take(signed: SignedKeySet): Promise<boolean> {
    return this.#turns.take(() => this.#take(signed));
  }

  /** Resolves with true if a trusted key was dropped because it has signed its own revocation. */
  drop(revocations: readonly Revocation[]): Promise<boolean> {
    return this.#turns.take(() => this.#drop(revocations));
  }

  async #take(signed: SignedKeySet): Promise<boolean> {
    const set = openKeySet(this.trusted(), signed);
    if (set.version < this.version) {
      throw new WritError(
        "KEY_NOT_TRUSTED",
        `the hub shows key set ${set.version}, but this worker has already seen ${this.version}; an older set is not accepted`,
      );
    }
    if (set.version === this.version) return false;
    await this.#keep({ set, revoked: [...this.#revoked] });
    return true;
  }

  async #drop(revocations: readonly Revocation[]): Promise<boolean> {
    const trusted = this.trusted();
    const gone = revocations.slice(0, revocationsMax).filter(({ key_id, signature }) => {
      const key = trusted.find(({ keyId }) => keyId === key_id);
      return key !== undefined && verifyText(key, revocationText(key_id), signature);
    });
    if (gone.length === 0) return false;
    await this.#keep({ set: this.#set, revoked: [...this.#revoked, ...gone.map(({ key_id }) => key_id)] });
    return true;
  }

  /** Written to disk first, because the worker must not act on a change that a crash could undo. */
  async #keep({ set, revoked }: Kept): Promise<void> {
    const text = JSON.stringify({ set: set === null ? null : keySetText(set), revoked });
    if (this.#options.roots.length > 0) await writePrivateFile(this.#options.path, `${text}\n`);
    this.#set = set;
    this.#revoked = new Set(revoked);
    this.#loaded.clear();
  }

  readonly #loaded = new Map<string, VerifyingKey>();

  /** Decodes each key once, because every claim uses it. */
  #load(pem: string): VerifyingKey {
    const known = this.#loaded.get(pem);
    if (known !== undefined) return known;
    const key = loadVerifyingKey(pem);
    this.#loaded.set(pem, key);
    return key;
  }
}

/** Reads the worker's own file; other content is neither trusted nor silently replaced. */
function readKept(path: string, text: string): Kept {
  try {
    const { set, revoked } = JSON.parse(text) as { set: string | null; revoked: string[] };
    if (!Array.isArray(revoked)) throw new TypeError("it does not list the revoked keys");
    return { set: set === null ? null : parseKeySet(set), revoked };
  } catch (error) {
    throw new WritError("CONFIG_INVALID", `${path} cannot be read: ${(error as Error).message}`);
  }
}
