import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { probeRoutes } from "../../src/contract/routes/probe-routes.ts";
import type { Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import { type OpenApi, type Operation, openApi } from "../../src/hub/http/reference/openapi.ts";
import type { Answer } from "../support/call-http.ts";
import { undocumented } from "../support/openapi-check.ts";

const document = openApi("0.0.0-test");
const all = { ...routes, ...probeRoutes } as Record<string, Route>;

function operationOf({ path, method }: Route): Operation {
  return document.paths[path.replaceAll(/:(\w+)/g, "{$1}")]![method.toLowerCase()]!;
}

test("the document has every route with its parameters, body, answers and who may call it", () => {
  const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(described.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(all).sort());
  for (const [name, route] of Object.entries(all)) {
    const operation = operationOf(route);
    expect(operation.operationId).toBe(name);
    const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map((one) => one.name);
    expect(inPath.sort()).toEqual([...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]).sort());
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(Object.keys(route.answers)));
    expect(operation.requestBody !== undefined).toBe(
      route.body !== undefined || route.bodyKind !== undefined,
    );
    expect(operation.security.length === 0).toBe(route.who === "open" || route.who === "signed URL");
    expect(document.tags.map((tag) => tag.name)).toContain(operation.tags[0]);
  }
  expect(document.tags.map(({ name }) => name)).not.toContain("Other");
});

test("B8: every JSON body has an example, and it has the shape beside it", () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document as unknown as OpenApi & object, "openapi.json");
  for (const { at, schema, example } of jsonBodies()) {
    const validate = ajv.compile(withRoot(schema));
    expect(example, at).toBeDefined();
    expect(validate(example), `${at}: ${ajv.errorsText(validate.errors)}`).toBe(true);
  }
});

test.each<[string, Partial<Answer> & { body?: unknown }, RegExp]>([
  ["with a status that it does not name", { status: 418 }, /no status 418/],
  ["with a header that it does not name", { headers: { "x-secret": "1" } }, /header x-secret/],
  ["of another media type", { headers: { "content-type": "text/plain" } }, /media type text\/plain/],
  ["without a body", { headers: { "content-type": undefined } }, /expects a body/],
  ["of another shape", { body: { status: "ok" } }, /must have required property 'version'/],
])("B8: an answer %s is noticed", (_, changes, complaint) => {
  const { body = { status: "ok", version: "1" }, headers, status = 200 } = changes;
  const text = JSON.stringify(body);
  const answer = { status, headers: { "content-type": "application/json", ...headers }, text } as Answer;
  expect(undocumented(probeRoutes.getHealth, answer)).toMatch(complaint);
});

type JsonBody = { at: string; schema: object; example: unknown };

function jsonBodies(): JsonBody[] {
  return Object.values(all).flatMap((route) => {
    const { operationId, requestBody, responses } = operationOf(route);
    const contents = [
      { at: `${operationId} body`, content: requestBody?.content },
      ...Object.entries(responses).map(([status, { content }]) => ({
        at: `${operationId} ${status}`,
        content,
      })),
    ];
    return contents.flatMap(({ at, content }) => {
      const json = content?.["application/json"];
      return json === undefined ? [] : [{ at, schema: json.schema!, example: json.example }];
    });
  });
}

/** References start at the document. */
function withRoot(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/'));
}
