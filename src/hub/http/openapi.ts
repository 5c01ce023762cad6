import { z } from "zod";
import type { Route } from "../../contract/route.ts";
import { routes } from "../../contract/routes.ts";
import { errorBody } from "../../contract/view-shapes.ts";

/** The API as OpenAPI 3.1, generated from the same table and shapes that the hub serves. */
export function openApi(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries(routes) as [string, Route][]) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(name, route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Writ", version, description: "Submit, run and follow jobs." },
    servers: [{ url: "/api/v1" }],
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "writ_session" },
      },
      schemas: { Error: schemaOf(errorBody, "output") },
    },
  };
}

function operation(name: string, route: Route): Record<string, unknown> {
  return {
    operationId: name,
    summary: route.summary,
    description: whoMay(route),
    ...(route.who === "open" ? {} : { security: [{ token: [] }, { session: [] }] }),
    parameters: [...parametersOf(route.params, "path"), ...parametersOf(route.query, "query")],
    ...(requestBody(route) ?? {}),
    responses: responsesOf(route),
  };
}

export function whoMay(route: Route): string {
  if (route.who === "open") return "No token is needed.";
  return `For ${["admin", ...route.who].join(", ")} tokens.`;
}

function parametersOf(shape: z.ZodType | undefined, place: "path" | "query"): unknown[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(shape, "input") as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema,
  }));
}

function requestBody(route: Route): Record<string, unknown> | undefined {
  if (route.bodyKind === "bytes") {
    return { requestBody: { required: true, content: { "application/octet-stream": {} } } };
  }
  if (route.body === undefined) return undefined;
  const required = !route.body.safeParse(undefined).success;
  return {
    requestBody: { required, content: { "application/json": { schema: schemaOf(route.body, "input") } } },
  };
}

function responsesOf(route: Route): Record<string, unknown> {
  const answers = Object.entries(route.answers).map(([status, { description, shape, type }]) => {
    const schema = shape === undefined ? {} : { schema: schemaOf(shape, "output") };
    const mediaType = type ?? (shape === undefined ? undefined : "application/json");
    return [
      status,
      { description, ...(mediaType === undefined ? {} : { content: { [mediaType]: schema } }) },
    ];
  });
  const error = { $ref: "#/components/schemas/Error" };
  return {
    ...Object.fromEntries(answers),
    default: { description: "A refusal with its code", content: { "application/json": { schema: error } } },
  };
}

export function schemaOf(shape: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io,
    unrepresentable: "any",
    target: "draft-2020-12",
  });
  return schema;
}
