import { hash } from "node:crypto";
import { ByteWriter } from "./byte-writer.ts";
import { SharedTexts } from "./shared-texts.ts";

const hashBytes = 32;

export type ListMark = { bytes: number; entries: number; texts: number };

/**
 * The entries of one payload while its group is collected. `bytes` takes what belongs to the next entry, and `end` ends it. Texts that
 * entries share are written after them, as the last entry. Why: ADR 0105.
 */
export class EntryList {
  readonly bytes = new ByteWriter();
  readonly texts = new SharedTexts();
  readonly #hashes = new ByteWriter();
  readonly #isSharing: boolean;
  #ends: number[] = [];

  /** Whether its entries may name texts: those are then its last entry. */
  constructor({ isSharing }: { isSharing: boolean }) {
    this.#isSharing = isSharing;
  }

  get length(): number {
    return this.#ends.length;
  }

  /** The hash that is listed for the entry, if it is not that of its bytes. Returns the place of the entry. */
  end(sha256?: string): number {
    this.#hashes.hex(sha256 ?? hash("sha256", this.bytes.since(this.#lastEnd), "hex"));
    if (this.#hashes.length !== hashBytes * (this.length + 1))
      throw new RangeError(`${sha256} is not a SHA-256`);
    return this.#ends.push(this.bytes.length) - 1;
  }

  mark(): ListMark {
    return { bytes: this.bytes.length, entries: this.length, texts: this.texts.length };
  }

  backTo(mark: ListMark): void {
    this.bytes.length = mark.bytes;
    this.#ends.length = mark.entries;
    this.#hashes.length = mark.entries * hashBytes;
    this.texts.backTo(mark.texts);
  }

  /** Everything that was collected; the list is empty then. */
  take(): { bytes: Buffer; hashes: Buffer; ends: number[] } {
    if (this.#isSharing && this.length > 0) {
      this.texts.writeTo(this.bytes);
      this.end();
      this.texts.backTo(0);
    }
    const ends = this.#ends;
    this.#ends = [];
    return { bytes: this.bytes.take(), hashes: this.#hashes.take(), ends };
  }

  get #lastEnd(): number {
    return this.#ends.at(-1) ?? 0;
  }
}
