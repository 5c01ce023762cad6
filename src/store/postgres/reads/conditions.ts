import type { SqlValue } from "../connection/connection.ts";

/** The conditions of a search and the values that are bound to them. Why: ADR 0031. */
export class Conditions {
  readonly values: SqlValue[] = [];
  readonly #texts: string[] = [];

  /** A filter that is not given adds no condition. The text is always ours, never a caller's; `?` is the value. */
  add(text: string, value: SqlValue | undefined): this {
    if (value === undefined) return this;
    return this.addText(text.replaceAll("?", this.bind(value)));
  }

  addText(text: string): this {
    this.#texts.push(text);
    return this;
  }

  /** The name of a value in the text. */
  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }

  get text(): string {
    return this.#texts.length === 0 ? "TRUE" : this.#texts.join(" AND ");
  }
}
