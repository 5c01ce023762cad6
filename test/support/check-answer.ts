import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { probeRoutes } from "../../src/contract/routes/probe-routes.ts";
import { answerRow, type Route } from "../../src/contract/routes/route.ts";
import { routes } from "../../src/contract/routes/routes.ts";
import { errorBody } from "../../src/contract/shapes/view-shapes.ts";
import type { Answer } from "./call-http.ts";
import { undocumented } from "./openapi-check.ts";

/**
 * Throws when a hub's answer is not what the route's table promises. The compiler has checked the handlers already;
 * this finds what it cannot see: fields that no shape names, and values that came out of the store as text.
 * Why: ADR 0024.
 */
export function checkAnswer(method: string, path: string, answer: Answer): void {
  const route = routeAt(method, path);
  if (route === undefined) return;
  const isRefusal = answer.status >= 400 && answerRow(route, answer.status)?.shape === undefined;
  const wrong =
    (isRefusal ? wrongRefusal(answer) : wrongSuccess(route, answer)) ?? undocumented(route, answer);
  if (wrong === null) return;
  throw new Error(`${method} ${path} answered ${answer.status}, and ${wrong}: ${answer.text.slice(0, 2000)}`);
}

/** The same for JSON that does not come as an answer. */
export function checkJson(shape: z.ZodType, what: string, text: string): void {
  const wrong = wrongJson(shape, text);
  if (wrong !== null) throw new Error(`${what}: ${wrong}: ${text.slice(0, 2000)}`);
}

const atRoot = Object.values(probeRoutes) as Route[];
const table = [...(Object.values(routes) as Route[]), ...atRoot]
  .map((route) => {
    const prefix = atRoot.includes(route) ? "(/api|/api/v1)?" : "/api(/v1)?";
    return { route, pattern: new RegExp(`^${prefix}${route.path.replaceAll(/:\w+/g, "[^/]+")}$`) };
  })
  .sort((a, b) => parameters(a.route) - parameters(b.route));

function parameters({ path }: Route): number {
  return path.split(":").length;
}

function routeAt(method: string, path: string): Route | undefined {
  const [pathname = ""] = path.split("?");
  return table.find(({ route, pattern }) => route.method === method && pattern.test(pathname))?.route;
}

function wrongRefusal({ headers, text }: Answer): string | null {
  if (headers["content-type"] !== "application/json") return "a refusal must be JSON";
  return wrongJson(errorBody, text);
}

function wrongSuccess(route: Route, { status, headers, text, bytes }: Answer): string | null {
  const row = answerRow(route, status);
  if (row === undefined) return "its table does not name that status";
  if (row.shape === undefined && row.type === undefined) return bytes.length === 0 ? null : "it has a body";
  const type = row.type ?? "application/json";
  const also = row.alsoType?.replace("*", "") ?? type;
  if (headers["content-type"] !== type && !headers["content-type"]?.startsWith(also))
    return `it is ${headers["content-type"]} instead of ${type}`;
  return row.shape === undefined ? null : wrongJson(row.shape, text);
}

/** A shape passes over fields that it does not name, and so gives back something else than it was given. */
function wrongJson(shape: z.ZodType, text: string): string | null {
  const body: unknown = JSON.parse(text);
  const { success, error, data } = shape.safeParse(body);
  if (!success) return `its shape does not fit: ${error.message}`;
  return isDeepStrictEqual(data, body) ? null : "it has fields that its shape does not name";
}
