import type { Route } from "../../src/contract/routes/route.ts";
import { type RouteName, routes } from "../../src/contract/routes/routes.ts";
import type { Answer } from "../support/call-http.ts";
import { open } from "../support/event-stream.ts";
import type { TestHub } from "../support/hub.ts";
import type { Example } from "./route-examples.ts";

export const routeNames = Object.keys(routes) as RouteName[];

export function routeOf(name: RouteName): Route {
  return routes[name];
}

/** An example with one thing changed; a token of null sends none. */
export type Change = Partial<Omit<Example, "token">> & {
  token?: string | null;
  method?: string;
  authorization?: string | string[];
  from?: string;
  chunked?: boolean;
};

export function send(hub: TestHub, name: RouteName, example: Example, change: Change = {}): Promise<Answer> {
  const { token, method = routeOf(name).method, authorization, from, chunked, ...rest } = change;
  const { params, query, body, headers } = { ...example, ...rest };
  return hub.call(method, pathOf(routeOf(name), params, query), {
    body,
    from,
    chunked,
    token: token === null || authorization !== undefined ? undefined : (token ?? example.token),
    headers: { ...headers, ...(authorization === undefined ? {} : { Authorization: authorization }) },
  });
}

/** The status of the example itself; a stream is opened and left again. */
export async function statusOf(hub: TestHub, name: RouteName, example: Example): Promise<number> {
  const route = routeOf(name);
  if (route.answers[200]?.type !== "text/event-stream") return (await send(hub, name, example)).status;
  const path = `/api/v1${pathOf(route, example.params, example.query)}`;
  const stream = await open(hub, path, { Authorization: `Bearer ${example.token}` });
  stream.destroy();
  return stream.statusCode ?? 0;
}

function pathOf(
  route: Route,
  params: Record<string, string> = {},
  query: Record<string, string> = {},
): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams(query).toString();
  return search === "" ? path : `${path}?${search}`;
}
