import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { type OpenApi, openApi } from "../../src/hub/http/reference/openapi.ts";

const document = openApi("0.0.0-test");

test("B8: two validators that have nothing in common accept the document", async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  expect(await lint(document)).toEqual([]);
});

test("both find a mistake", async () => {
  const { paths, ...rest } = structuredClone(document);
  const wrong = {
    ...rest,
    paths: { ...paths, "/jobs": { get: { responses: { 200: { $ref: "#/nothing" } } } } },
  };
  expect((await new Validator().validate({ ...structuredClone(document), openapi: "3.1" })).valid).toBe(
    false,
  );
  expect(await lint(wrong as unknown as OpenApi)).not.toEqual([]);
});

async function lint(source: OpenApi): Promise<string[]> {
  const config = await createConfig({
    extends: ["spec"],
    rules: { "no-invalid-media-type-examples": "error", "no-invalid-schema-examples": "error" },
  });
  const problems = await lintFromString({ source: JSON.stringify(source), config });
  return problems.map(({ message, location }) => `${location[0]?.pointer}: ${message}`);
}
