import { type FieldIssue, invalidArgument, WritError } from "../errors.ts";

/**
 * JSON text that says what the value says. JSON.stringify turns NaN, infinities, invalid dates and undefined list members
 * into null, and maps and sets into {}, without an error: a reader could not tell them from the real thing. They are
 * refused here with the path of the value. As in all JSON, an undefined property is the same as none.
 */
export function toJson(value: unknown, path = ""): string {
  try {
    const text = JSON.stringify(value);
    // Whatever is lost leaves one of these behind, so most values need no second look.
    const problem =
      text === undefined || text.includes("null") || text.includes("{}") ? findLoss(value, path) : undefined;
    if (problem !== undefined) throw invalidArgument(problem);
    return text;
  } catch (error) {
    if (error instanceof WritError) throw error;
    // A cycle, a bigint, or a toJSON that throws.
    const [firstLine = ""] = String(error instanceof Error ? error.message : error).split("\n");
    throw invalidArgument({ path, message: `cannot be written as JSON: ${firstLine}` });
  }
}

function findLoss(value: unknown, path: string): FieldIssue | undefined {
  const lost = lostKind(value);
  if (lost !== undefined) return { path, message: `${lost} cannot be written as JSON` };
  if (typeof value !== "object" || value === null) return undefined;
  if ("toJSON" in value && typeof value.toJSON === "function") return findLoss(value.toJSON(), path);
  if (Array.isArray(value)) return firstLoss([...value.entries()], (index) => `${path}[${index}]`);
  const members = Object.entries(value).filter(([, member]) => !isOmitted(member));
  return firstLoss(members, (name) => (path === "" ? name : `${path}.${name}`));
}

function firstLoss<K>(members: [K, unknown][], pathOf: (key: K) => string): FieldIssue | undefined {
  for (const [key, member] of members) {
    const loss = findLoss(member, pathOf(key));
    if (loss !== undefined) return loss;
  }
  return undefined;
}

function lostKind(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : String(value);
  if (isOmitted(value)) return value === undefined ? "undefined" : `a ${typeof value}`;
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? "an invalid date" : undefined;
  if (value instanceof Map) return "a Map";
  return value instanceof Set ? "a Set" : undefined;
}

function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === "function" || typeof value === "symbol";
}
