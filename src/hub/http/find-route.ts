import type { Route } from "../../contract/routes/route.ts";
import { type RouteName, routes } from "../../contract/routes/routes.ts";
import { apiPrefixes } from "./api-prefixes.ts";

export type FoundRoute = { name: RouteName; params: Record<string, string> };

const noParams: Record<string, string> = {};
const literal = new Map<string, RouteName>();
/** By what follows the id in `/jobs/:id/result`. */
const ofJob = new Map<string, RouteName>();
const jobPath = /^\/api(?:\/v1)?\/jobs\/([0-9a-f-]{36})(\/[a-z-]+)$/;

for (const name of Object.keys(routes) as RouteName[]) {
  const { method, path }: Route = routes[name];
  if (method !== "POST") continue;
  if (!path.includes(":")) for (const prefix of apiPrefixes) literal.set(`${prefix}${path}`, name);
  else if (/^\/jobs\/:id\/[a-z-]+$/.test(path)) ofJob.set(path.slice("/jobs/:id".length), name);
}

/**
 * The route of a call that producers and workers make thousands of times a second: a POST without a query, to a fixed
 * path or to one of a job. Null for everything else, also for what only looks unusual: Hono finds those.
 */
export function findRoute(method: string | undefined, url: string): FoundRoute | null {
  if (method !== "POST") return null;
  const fixed = literal.get(url);
  if (fixed !== undefined) return { name: fixed, params: noParams };
  const [, id, act] = jobPath.exec(url) ?? [];
  const name = act === undefined ? undefined : ofJob.get(act);
  return name === undefined ? null : { name, params: { id: id! } };
}
