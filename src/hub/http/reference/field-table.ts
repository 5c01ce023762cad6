import { escapeHtml } from "../pages/html.ts";
import type { Schema } from "./schema-of.ts";

type Row = { name: string; schema: Schema; isRequired: boolean };

/** Deeper fields have no rows; the type of their parent names them. */
const depthMax = 4;

/** The fields of an object, with those inside them by their path. */
export function fieldTable(schema: Schema): string {
  const rows = rowsOf(schema, "", 0);
  if (rows.length === 0) return `<p>${escapeHtml(typeText(schema))}</p>`;
  const cells = rows.map(
    ({ name, schema: field, isRequired }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(typeText(field))}${isRequired ? "" : ", optional"}</td><td>${escapeHtml(field.description ?? "")}</td></tr>`,
  );
  return `<table><thead><tr><th>field</th><th>type</th><th>meaning</th></tr></thead><tbody>${cells.join("")}</tbody></table>`;
}

function rowsOf(schema: Schema, path: string, depth: number): Row[] {
  if (depth >= depthMax) return [];
  const { properties, required = [] } = schema;
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([key, field]) => {
      const name = path === "" ? key : `${path}.${key}`;
      const row = { name, schema: field, isRequired: required.includes(key) };
      return [row, ...rowsOf(field, name, depth + 1)];
    });
  }
  if (typeof schema.items === "object") return rowsOf(schema.items, `${path}[]`, depth);
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap((choice) => rowsOf(choice, path, depth));
}

function typeText(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(" or ");
  if (schema.type === undefined) return "any JSON";
  if (schema.type === "array")
    return `list of ${typeof schema.items === "object" ? typeText(schema.items) : "any JSON"}`;
  return `${[schema.type].flat().join(" or ")}${rangeText(schema)}`;
}

function rangeText({ minimum, maximum, minLength, maxLength, type }: Schema): string {
  const [from, to] = type === "string" ? [minLength, maxLength] : [minimum, maximum];
  if (from === undefined && to === undefined) return "";
  const unit = type === "string" ? " characters" : "";
  // The largest whole number of JavaScript is not a chosen limit.
  if (to === undefined || to === Number.MAX_SAFE_INTEGER) return ` (from ${from ?? 0}${unit})`;
  return ` (${from ?? 0} to ${to}${unit})`;
}
