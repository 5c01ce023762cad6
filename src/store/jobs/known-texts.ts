/** A few hundred bytes each. What one kind of job says is the same for thousands of jobs. */
const knownMax = 1_000;

/** What was read from a text, or written for it, is kept for the next time that the same text comes. Why: ADR 0073. */
export class KnownTexts<T> {
  readonly #make: (text: string) => T;
  readonly #known = new Map<string, T>();

  constructor(make: (text: string) => T) {
    this.#make = make;
  }

  of(text: string): T {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= knownMax) this.#known.clear();
    const made = this.#make(text);
    this.#known.set(text, made);
    return made;
  }
}
