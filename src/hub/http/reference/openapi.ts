import type { z } from "zod";
import { probeRoutes } from "../../../contract/routes/probe-routes.ts";
import type { AnswerRow, Route } from "../../../contract/routes/route.ts";
import { routes } from "../../../contract/routes/routes.ts";
import { errorBody } from "../../../contract/shapes/view-shapes.ts";
import { bodyExample, exampleOf } from "./examples.ts";
import { groupOf, tagsOf } from "./groups.ts";
import { codesOf, header, refusalOf, refusalStatuses } from "./refusals.ts";
import { type Schema, schemaOf } from "./schema-of.ts";

/** The parts of OpenAPI that the document uses. Why: ADR 0035. */
export type OpenApi = {
  openapi: string;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  [part: string]: unknown;
};
export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Response>;
  security: Record<string, never[]>[];
};
export type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Schema };
export type Response = {
  $ref?: string;
  description?: string;
  headers?: Record<string, { description: string }>;
  content?: Content;
};
type Content = Record<string, { schema?: Schema; example?: unknown }>;

const all = { ...routes, ...probeRoutes } as Record<string, Route>;

/** The API as OpenAPI 3.1, generated from the same table and shapes that the hub serves. */
export function openApi(version: string): OpenApi {
  const paths: OpenApi["paths"] = {};
  for (const [name, route] of Object.entries(all)) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = describeRoute(name, route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Writ",
      version,
      description: "Submit, run and follow jobs.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/api/v1", description: "This hub; `/api` is the same." }],
    tags: tagsOf(Object.values(all).map(groupOf)),
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "writ_session_ID" },
      },
      schemas: { Error: schemaOf(errorBody, "output") },
      responses: refusals(),
    },
  };
}

/** One route, as in the document. */
export function describeRoute(name: string, route: Route): Operation {
  const body = requestBody(name, route);
  return {
    operationId: name,
    summary: route.summary,
    description: whoMay(route),
    tags: [groupOf(route)],
    security: isOpen(route) ? [] : [{ token: [] }, { session: [] }],
    parameters: [
      ...parametersOf(route.params, "path"),
      ...parametersOf(route.query, "query"),
      ...headerParameters(route),
    ],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responsesOf(route),
  };
}

function isOpen({ who }: Route): boolean {
  return who === "open" || who === "signed URL";
}

function whoMay({ who }: Route): string {
  if (who === "open") return "No token is needed.";
  if (who === "signed URL")
    return "No token is needed: the URL, which another route has given, is the permission.";
  if (who === "job token") return "For the token of the job itself, and for admin tokens.";
  return `For ${["admin", ...who].join(", ")} tokens.`;
}

function parametersOf(shape: z.ZodType | undefined, place: "path" | "query"): Parameter[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(shape, "input");
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema,
  }));
}

function headerParameters({ headers = {} }: Route): Parameter[] {
  return Object.entries(headers).map(([name, { description, required = false }]) => ({
    name,
    in: "header",
    required,
    description,
    schema: { type: "string" },
  }));
}

function requestBody(name: string, route: Route): Operation["requestBody"] {
  if (route.bodyKind === "bytes" || route.bodyKind === "stream")
    return { required: true, content: { "application/octet-stream": {} } };
  if (route.body === undefined) return undefined;
  const required = !route.body.safeParse(undefined).success;
  const schema = schemaOf(route.body, "input");
  return { required, content: { "application/json": { schema, example: bodyExample(name, schema) } } };
}

function responsesOf(route: Route): Record<string, Response> {
  const answers = Object.entries(route.answers) as [string, AnswerRow][];
  const own = answers.map(([status, row]) => [status, responseOf(Number(status), row)]);
  const refused = refusalStatuses(route)
    .filter((status) => !(status in route.answers))
    .map((status) => [status, { $ref: `#/components/responses/${status}` }]);
  return Object.fromEntries([...own, ...refused]);
}

function responseOf(
  status: number,
  { description, shape, type, alsoType, headers = {} }: AnswerRow,
): Response {
  const shown = Object.entries(headers).map(([name, text]) => [name, header(text)]);
  const head = { description, ...(shown.length > 0 ? { headers: Object.fromEntries(shown) } : {}) };
  if (status >= 400 && shape === undefined) return { ...head, content: errorContent(status) };
  const mediaType = type ?? (shape === undefined ? undefined : "application/json");
  if (mediaType === undefined) return head;
  const mediaTypes = [mediaType, ...(alsoType === undefined ? [] : [alsoType])];
  const plain = mediaTypes.map((name) => [name, { schema: { type: "string" } }]);
  if (shape === undefined) return { ...head, content: Object.fromEntries(plain) };
  const schema = schemaOf(shape, "output");
  return { ...head, content: { [mediaType]: { schema, example: exampleOf(schema) } } };
}

/** Each refusal once; the routes refer to them. */
function refusals(): Record<string, Response> {
  const statuses = new Set(Object.values(all).flatMap(refusalStatuses));
  return Object.fromEntries([...statuses].map((status) => [String(status), describeRefusal(status)]));
}

/** One refusal, as in the components of the document. */
export function describeRefusal(status: number): Response {
  return { ...refusalOf(status), content: errorContent(status) };
}

function errorContent(status: number): Content {
  const [code = "INTERNAL"] = codesOf(status);
  const error = { code, message: "a sentence that says what to do", request_id: "01JCW2V6Q0" };
  const schema = { $ref: "#/components/schemas/Error" } as Schema;
  return { "application/json": { schema, example: { error } } };
}
