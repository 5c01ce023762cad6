/** Data from an agent: nothing about it is known. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function recordOf(value: unknown): JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : {};
}

export function recordsIn(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A whole number that is not negative; 0 for everything else. */
export function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

export function costOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** The strings in a value, at any depth; for the answers of tools, which have many forms. */
export function wordsOf(value: unknown, depth = 6): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth === 0) return "";
  return Object.values(value)
    .map((part) => wordsOf(part, depth - 1))
    .join("\n");
}
