import { WritError } from "../core/errors.ts";
import { readPrivateFile, writePrivateFile } from "../runtime/private-file.ts";
import { loadVerifyingKey, type VerifyingKey, verifyText } from "../signing/ed25519.ts";
import {
  type KeySet,
  keySetText,
  openKeySet,
  parseKeySet,
  revocationText,
  type SignedKeySet,
} from "../signing/key-set.ts";

type Options = {
  /** Where the newest key set is kept. */
  path: string;
  /** PEM; the root of all trust, given by whoever set the worker up. */
  roots: readonly string[];
  nowMs: () => number;
};

type Kept = { set: KeySet | null; revoked: string[] };

/** More keys than a hub collects in twenty years. */
const revocationsMax = 256;

/** How far the clocks of hub and worker may be apart. */
const skewMs = 30_000;

/**
 * Whose signatures this worker believes. A new key set is taken only when a key that is trusted now has signed it,
 * and only when it is newer than the one before; a key that it calls revoked is dropped at once. With roots it is
 * kept across restarts. Without them the hub's first answer stands in for them, until the end of this process.
 */
export class TrustedKeys {
  readonly #options: Options;
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

  /** False as long as nobody has said whom to trust first. */
  get hasRoots(): boolean {
    return this.#roots.length > 0;
  }

  /** What the hub is told: the keys that are trusted. Who trusts none names those of old, and so is given nothing. */
  names(): string[] {
    const trusted = this.trusted();
    return (trusted.length > 0 ? trusted : this.#roots).map(({ keyId }) => keyId);
  }

  /** A root that the key set does not know was given since; one that it knows counts as the set says. */
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

  /** Believes these, because nobody gave other ones and the channel to the hub is all there is. */
  pin(publicKeys: readonly string[]): void {
    if (this.#roots.length > 0) throw new Error("there are roots already");
    this.#roots = publicKeys.map(loadVerifyingKey);
  }

  /** True when the set was taken. One that nobody trusted has signed is refused, an older one is left alone. */
  async take(signed: SignedKeySet): Promise<boolean> {
    const set = openKeySet(this.trusted(), signed);
    if (set.version < this.version) {
      throw new WritError(
        "KEY_NOT_TRUSTED",
        `the hub shows key set ${set.version}, but this worker has seen ${this.version}: it does not go back`,
      );
    }
    if (set.version === this.version) return false;
    await this.#keep({ set, revoked: [...this.#revoked] });
    return true;
  }

  /** True when a trusted key was dropped, because it says itself that it is not to be believed. */
  async drop(revocations: readonly { key_id: string; signature: string }[]): Promise<boolean> {
    const trusted = this.trusted();
    const gone = revocations.slice(0, revocationsMax).filter(({ key_id, signature }) => {
      const key = trusted.find(({ keyId }) => keyId === key_id);
      return key !== undefined && verifyText(key, revocationText(key_id), signature);
    });
    if (gone.length === 0) return false;
    await this.#keep({ set: this.#set, revoked: [...this.#revoked, ...gone.map(({ key_id }) => key_id)] });
    return true;
  }

  /** On disk first: what a crash forgets must not have been acted on. */
  async #keep({ set, revoked }: Kept): Promise<void> {
    const text = JSON.stringify({ set: set === null ? null : keySetText(set), revoked });
    if (this.#options.roots.length > 0) await writePrivateFile(this.#options.path, `${text}\n`);
    this.#set = set;
    this.#revoked = new Set(revoked);
    this.#loaded.clear();
  }

  readonly #loaded = new Map<string, VerifyingKey>();

  /** Asked for with every claim; a key is decoded once. */
  #load(pem: string): VerifyingKey {
    const known = this.#loaded.get(pem);
    if (known !== undefined) return known;
    const key = loadVerifyingKey(pem);
    this.#loaded.set(pem, key);
    return key;
  }
}

/** What this worker wrote itself; whatever else is there is not believed, and not quietly replaced. */
function readKept(path: string, text: string): Kept {
  try {
    const { set, revoked } = JSON.parse(text) as { set: string | null; revoked: string[] };
    if (!Array.isArray(revoked)) throw new TypeError("it does not say what is revoked");
    return { set: set === null ? null : parseKeySet(set), revoked };
  } catch (error) {
    throw new WritError("CONFIG_INVALID", `${path} cannot be read: ${(error as Error).message}`);
  }
}
