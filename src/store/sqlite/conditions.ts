import type { SqlValue } from "./connection.ts";

/** The conditions of a search and the values that they are bound to, side by side. */
export class Conditions {
  readonly values: SqlValue[] = [];
  readonly #texts: string[] = [];

  /** A filter that was not given is no condition. The text is ours and never a caller's. */
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
