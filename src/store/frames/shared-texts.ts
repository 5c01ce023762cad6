import { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** Texts that many entries of a payload have in common, which they name by number. Why: ADR 0105. */
export class SharedTexts {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  get length(): number {
    return this.#texts.length;
  }

  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#texts.push(text) - 1;
    this.#numbers.set(text, number);
    return number;
  }

  /** Forgets all but the first ones. */
  backTo(length: number): void {
    for (const text of this.#texts.splice(length)) this.#numbers.delete(text);
  }

  writeTo(bytes: ByteWriter): void {
    for (const text of this.#texts) bytes.sizedText(text);
  }
}

/** What was written; of damaged bytes, as much as can be read. A caller that uses one compares a hash of what follows from it. */
export function readSharedTexts(bytes: Buffer): string[] {
  const texts: string[] = [];
  const reader = new ByteReader(bytes);
  try {
    while (!reader.isAtEnd) texts.push(reader.sizedText());
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return texts;
}
