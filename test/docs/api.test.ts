import { expect, test } from "vitest";
import { hubAbilities } from "../../src/contract/hub-abilities.ts";
import type { Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import { waitCodes } from "../../src/contract/why-view.ts";
import { errorTable } from "../../src/core/errors.ts";
import { fieldFormats } from "../../src/core/jobs/document-format.ts";
import { advice, readBlock, readTable, tableLines } from "./page.ts";

const page = "docs/api.md";

test("the page lists every error with its status, its exit code and whether to try again", () => {
  const expected = Object.entries(errorTable).map(([code, { http, exit, retryable }]) => [
    `\`${code}\``,
    String(http),
    String(exit),
    retryable ? "yes" : "no",
  ]);
  const written = readTable(readBlock(page, "errors"));
  const shown = advice(page, tableLines(["code", "HTTP", "exit", "try again"], expected));
  expect(
    written.map((cells) => cells.slice(0, 4)),
    shown,
  ).toEqual(expected);
  for (const cells of written) expect(cells[4], `${cells[0]} needs a meaning`).not.toBe("");
});

test("the page lists every field that is newer than version 0.1, with its format", () => {
  const expected = Object.entries(fieldFormats).map(([field, format]) => [`\`${field}\``, String(format)]);
  const shown = advice(page, tableLines(["field", "format"], expected));
  expect(readTable(readBlock(page, "formats")), shown).toEqual(expected);
});

test("the page lists everything that a hub names in Writ-Accepts", () => {
  const written = readTable(readBlock(page, "abilities"));
  expect(written.map(([name]) => name)).toEqual(hubAbilities.map((name) => `\`${name}\``));
});

test("the page lists every code of `why`", () => {
  const written = readTable(readBlock(page, "wait codes"));
  expect(written.map(([code]) => code)).toEqual(waitCodes.map((code) => `\`${code}\``));
});

test("the page lists every route of the contract", () => {
  const expected = Object.values(routes as Record<string, Route>).map(({ method, path, who, summary }) => [
    `\`${method} ${path}\``,
    typeof who === "string" ? who : who.join(", ") || "admin",
    summary,
  ]);
  const shown = advice(page, tableLines(["route", "who", "what it does"], expected));
  expect(readTable(readBlock(page, "routes")), shown).toEqual(expected);
});
