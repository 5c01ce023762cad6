import { z } from "zod";

export type Step = string | number;
export type WrongBody = { path: string; what: string; body: unknown };

const missing = Symbol("missing");
const huge = "x".repeat(600_000);

/** Whatever JSON can hold, in the place of whatever was expected. */
const strangeValues: { what: string; value: unknown }[] = [
  { what: "null", value: null },
  { what: "true", value: true },
  { what: "-1", value: -1 },
  { what: "0", value: 0 },
  { what: "1.5", value: 1.5 },
  { what: "2^53", value: 2 ** 53 - 1 },
  { what: "empty text", value: "" },
  { what: "a text", value: "600' OR 1=1 --" },
  { what: "a huge text", value: huge },
  { what: "a list", value: [] },
  { what: "a list in a list", value: [[null]] },
  { what: "an object", value: {} },
  { what: "an object with a constructor", value: { constructor: { prototype: { x: 1 } } } },
  { what: "nothing", value: missing },
];

/**
 * A valid body with one field replaced by something strange, for every field that it has or could have. Which of
 * them are wrong is asked of the shape; that the hub says so, where and with which status is for the test to see.
 */
export function wrongBodies(shape: z.ZodType, valid: unknown): WrongBody[] {
  const places = [...placesIn(valid), ...topFieldsOf(shape).map((field) => [field])];
  const unique = new Map(places.map((place) => [pathText(place), place]));
  return [...unique].flatMap(([path, place]) =>
    strangeValues
      .map(({ what, value }) => ({ path, what, body: replaced(valid, place, value) }))
      .filter(({ body }) => !shape.safeParse(body).success),
  );
}

/** The body with an unknown field, in each of its objects that is of a fixed shape. */
export function withUnknownFields(shape: z.ZodType, valid: unknown): WrongBody[] {
  const objects = [[], ...placesIn(valid)].filter((place) => isObject(valueAt(valid, place)));
  return objects
    .map((place) => [...place, "surprise"])
    .map((place) => ({
      path: pathText(place),
      what: "an unknown field",
      body: replaced(valid, place, 1),
    }))
    .filter(({ body }) => !shape.safeParse(body).success);
}

export function topFieldsOf(shape: z.ZodType): string[] {
  const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" }) as {
    properties?: Record<string, unknown>;
  };
  return Object.keys(schema.properties ?? {});
}

export function placesIn(value: unknown, place: Step[] = []): Step[][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => [[...place, index], ...placesIn(item, [...place, index])]);
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    [...place, key],
    ...placesIn(item, [...place, key]),
  ]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function valueAt(value: unknown, place: Step[]): unknown {
  return place.reduce<unknown>((inner, step) => (inner as Record<Step, unknown>)[step], value);
}

export function replaced(value: unknown, [step, ...rest]: Step[], by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    const copy = [...value];
    if (rest.length === 0 && by === missing) copy.splice(Number(step), 1);
    else copy[Number(step)] = replaced(copy[Number(step)], rest, by);
    return copy;
  }
  const { [step]: inner, ...others } = value as Record<Step, unknown>;
  if (rest.length === 0 && by === missing) return others;
  return { ...others, [step]: replaced(inner, rest, by) };
}

function pathText(place: Step[]): string {
  return place
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}
