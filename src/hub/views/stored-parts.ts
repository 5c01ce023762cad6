import type { DamagedPart } from "../../store/jobs/find-damage.ts";

/** Reads the texts of a stored job. A damaged or unreadable text becomes null, and its name is kept. Why: ADR 0029. */
export class StoredParts {
  readonly #damaged: DamagedPart[];

  constructor(damaged: readonly DamagedPart[]) {
    this.#damaged = [...damaged];
  }

  read<Kept, T>(part: DamagedPart, kept: Kept | null, parse: (kept: Kept) => T): T | null {
    if (kept === null || this.#damaged.includes(part)) return null;
    try {
      return parse(kept);
    } catch {
      // The text does not parse: the caller records the part by its name.
      this.#damaged.push(part);
      return null;
    }
  }

  json<T>(part: DamagedPart, text: string | null): T | null {
    return this.read(part, text, (json) => JSON.parse(json) as T);
  }

  /** The field of a view; an intact job has no such field. */
  namesOfDamaged(): { damaged?: DamagedPart[] } {
    return this.#damaged.length === 0 ? {} : { damaged: this.#damaged };
  }
}
