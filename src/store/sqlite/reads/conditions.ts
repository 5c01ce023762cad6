import type { SqlValue } from "../database/connection.ts";

/** The conditions of a search and the values that are bound to them. Why: ADR 0059. */
export class Conditions {
  readonly values: SqlValue[] = [];
  readonly #texts: string[] = [];

  /** A filter that is not given adds no condition. The text is always ours, never a caller's. */
  add(text: string, value: SqlValue | undefined): this {
    if (value === undefined) return this;
    this.values.push(value);
    return this.addText(text);
  }

  addText(text: string): this {
    this.#texts.push(text);
    return this;
  }

  get text(): string {
    return this.#texts.length === 0 ? "TRUE" : this.#texts.join(" AND ");
  }
}
