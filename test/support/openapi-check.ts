import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { probeRoutes } from "../../src/contract/routes/probe-routes.ts";
import type { Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import { errorBody } from "../../src/contract/shapes/view-shapes.ts";
import {
  describeRefusal,
  describeRoute,
  type Operation,
  type Response,
} from "../../src/hub/http/reference/openapi.ts";
import { schemaOf } from "../../src/hub/http/reference/schema-of.ts";
import type { Answer } from "./call-http.ts";

/** Headers that pages and streams may have. */
const always = ["x-content-type-options", "x-accel-buffering"];
const ofOurs = /^(?:x-|writ-|set-cookie$|content-range$|retry-after$|www-authenticate$)/;

/** What the OpenAPI document does not say of this answer; null if it says all of it. Why: ADR 0035. */
export function undocumented(route: Route, answer: Answer): string | null {
  const response = responseOf(route, answer.status);
  if (response === undefined) return `OpenAPI has no status ${answer.status} for it`;
  const named = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  const unnamed = Object.keys(answer.headers).filter(
    (name) => ofOurs.test(name) && !always.includes(name) && !named.includes(name),
  );
  if (unnamed.length > 0) return `OpenAPI does not name its header ${unnamed.join(", ")}`;
  const type = answer.headers["content-type"];
  const content = response.content ?? {};
  if (type === undefined) return Object.keys(content).length === 0 ? null : "OpenAPI expects a body";
  if (content[type] === undefined) return `OpenAPI does not name its media type ${type}`;
  if (type !== "application/json") return null;
  const validate = validatorOf(content[type].schema!);
  if (validate(JSON.parse(answer.text))) return null;
  return `it breaks its schema in OpenAPI: ${ajv.errorsText(validate.errors)}`;
}

/** As the document describes it, with references followed. */
function responseOf(route: Route, status: number): Response | undefined {
  const response = operationOf(route).responses[status];
  if (response?.$ref === undefined) return response;
  const known = refusals.get(status) ?? describeRefusal(status);
  refusals.set(status, known);
  return known;
}

// Making the whole document, and compiling all of it, would take longer than most files of tests.
const names = new Map(
  Object.entries({ ...routes, ...probeRoutes }).map(([name, route]) => [route as Route, name]),
);
const operations = new Map<Route, Operation>();
const refusals = new Map<number, Response>();
const validators = new Map<object, ValidateFunction>();

function operationOf(route: Route): Operation {
  const known = operations.get(route) ?? describeRoute(names.get(route)!, route);
  operations.set(route, known);
  return known;
}

// Formats only help readers: the patterns beside them say what is allowed. Other tests check that these are schemas.
const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, allErrors: true });
ajv.addSchema({ components: { schemas: { Error: schemaOf(errorBody, "output") } } }, "document");

function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema) ?? ajv.compile(inDocument(schema));
  validators.set(schema, known);
  return known;
}

function inDocument(schema: object): object {
  return "$ref" in schema ? { $ref: `document${schema.$ref}` } : schema;
}
