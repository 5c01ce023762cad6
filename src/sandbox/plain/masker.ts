const asterisk = "*";

/**
 * Overwrites given texts with as many `*`, at any cut into chunks; the launcher does the same in C
 * (launcher/output/mask.c). The end of a chunk that may be the beginning of a text is held back until more is known.
 * Why: ADR 0034.
 */
export class Masker {
  readonly #masks: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);
  /** How many bytes at the front of the held ones belong to a text that began before them. */
  #heldMasked = 0;

  constructor(masks: readonly string[]) {
    this.#masks = masks.map((mask) => Buffer.from(mask));
  }

  /** Adds a chunk; returns the bytes that can be passed on. */
  push(chunk: Uint8Array): Buffer {
    const raw = Buffer.concat([this.#held, chunk]);
    return this.#pass(raw, raw.length - this.#beginningBytes(raw));
  }

  /** Returns the held bytes at the end of the stream. */
  end(): Buffer {
    return this.#pass(this.#held, this.#held.length);
  }

  /** Returns the held bytes masked, for a stream that was cut off. */
  endMasked(): Buffer {
    return this.end().fill(asterisk);
  }

  #pass(raw: Buffer, heldFrom: number): Buffer {
    const masked = Buffer.from(raw).fill(asterisk, 0, this.#heldMasked);
    let maskedTo = this.#heldMasked;
    for (const mask of this.#masks) {
      for (let at = raw.indexOf(mask); at !== -1; at = raw.indexOf(mask, at + 1)) {
        masked.fill(asterisk, at, at + mask.length);
        if (at < heldFrom) maskedTo = Math.max(maskedTo, at + mask.length);
      }
    }
    this.#held = raw.subarray(heldFrom);
    this.#heldMasked = Math.max(0, maskedTo - heldFrom);
    return masked.subarray(0, heldFrom);
  }

  /** The length of the longest end of these bytes with which a text, and not the whole of it, begins. */
  #beginningBytes(bytes: Buffer): number {
    let longest = 0;
    for (const mask of this.#masks) {
      for (let length = Math.min(mask.length - 1, bytes.length); length > longest; length--) {
        const start = bytes.length - length;
        // The first byte decides nearly always, and long texts are tried at every length.
        if (bytes[start] !== mask[0]) continue;
        if (bytes.subarray(start).equals(mask.subarray(0, length))) longest = length;
      }
    }
    return longest;
  }
}

/** A whole text with the masks applied. */
export function maskText(text: string, masks: readonly string[]): string {
  const masker = new Masker(masks);
  return Buffer.concat([masker.push(Buffer.from(text)), masker.end()]).toString();
}
