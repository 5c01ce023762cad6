import type { Hono } from "hono";
import { bodyBytes, type Route } from "../../contract/route.ts";
import { type RouteName, routes } from "../../contract/routes.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { JobToken } from "../../signing/job-token.ts";
import { authenticate, type Credentials } from "../use-cases/access/authenticate.ts";
import { callerOf } from "../use-cases/access/caller-of.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import { recordRequest } from "../use-cases/audit/record-request.ts";
import { authenticateJob, isJobToken } from "../use-cases/files/authenticate-job.ts";
import { answerResponse } from "./answer-response.ts";
import { apiPrefixes } from "./api-prefixes.ts";
import type { AnyAnswer, Call, Handlers, HttpContext, HttpDeps, HttpEnv } from "./call.ts";
import { checkBrowser, credentialsOf, originOf } from "./credentials.ts";
import { hungUp, readBytes, readJson } from "./read-body.ts";

/**
 * Serves every route of the contract. The checks come in this order: who is calling, may they, and what did they send.
 */
export function bindRoutes(app: Hono<HttpEnv>, deps: HttpDeps, handlers: Handlers): void {
  for (const name of literalPathsFirst()) {
    const route: Route = routes[name];
    for (const prefix of apiPrefixes) {
      app.on(route.method, `${prefix}${patternOf(route)}`, (context) =>
        serve(deps, { name, route, context, handlers }),
      );
    }
  }
}

function patternOf({ path, tail }: Route): string {
  return tail === undefined ? path : path.replace(`:${tail}`, `:${tail}{.+}`);
}

/** `/jobs/pending` must be tried before `/jobs/:id`. */
function literalPathsFirst(): RouteName[] {
  const parameters = (name: RouteName) => routes[name].path.split(":").length;
  return (Object.keys(routes) as RouteName[]).sort((a, b) => parameters(a) - parameters(b));
}

type Served = { name: RouteName; route: Route; context: HttpContext; handlers: Handlers };

async function serve(deps: HttpDeps, served: Served): Promise<Response> {
  const { name, route, context, handlers } = served;
  const { incoming } = context.env;
  const startedAt = deps.clock.monotonicMs();
  context.set("route" as never, name as never);
  const origin = originOf(incoming, deps.settings, { method: route.method, endpoint: route.path });
  const credentials = credentialsOf(incoming);
  const caller = { identity: nobody, origin };
  let request: { params?: unknown; query?: unknown; body?: unknown } = {};
  try {
    const { identity, jobToken } = await admit(deps, { ...served, credentials, origin });
    caller.identity = identity;
    caller.origin = { ...origin, userId: caller.identity.userId };
    context.set("identity" as never, caller.identity as never);
    if (jobToken === null) checkRole(route, caller.identity);
    request = {
      params: route.params && parseShape(route.params, context.req.param()),
      query: route.query && parseShape(route.query, queryOf(context)),
      body: await bodyOf(deps, served, caller),
    };
    const call = {
      deps,
      context,
      ...caller,
      credentials,
      jobToken,
      ...request,
      // Created only for calls that wait: an abort at the end of every small call would cost more than the call.
      get signal() {
        return hangUpSignal(context);
      },
    };
    const handler = handlers[name] as (call: Call<RouteName>) => Promise<AnyAnswer>;
    const answer = await handler(call as Call<RouteName>);
    await recordRequest(deps, { ...request, ...caller, outcome: String(answer.status) });
    return answerResponse(route, answer);
  } catch (thrown) {
    const error = await recordDenial(deps, caller, thrown);
    await recordRequest(deps, { ...request, ...caller, outcome: outcomeOf(error) });
    throw error;
  } finally {
    const labels = { method: route.method, route: route.path };
    deps.metrics.requestSeconds.observe(labels, (deps.clock.monotonicMs() - startedAt) / 1000);
  }
}

function outcomeOf(error: unknown): string {
  return error instanceof WritError ? error.code : "INTERNAL";
}

const nobody: Identity = { tokenId: "", role: "viewer", tenantId: null, userId: "anonymous", workerId: null };

async function admit(
  deps: HttpDeps,
  request: Served & { credentials: Credentials; origin: Origin },
): Promise<{ identity: Identity; jobToken: JobToken | null }> {
  const { route, name, credentials, origin, context } = request;
  const isAnonymous = credentials.bearer === null && credentials.session === null;
  const stranger = { identity: nobody, jobToken: null };
  if (route.who === "open" || route.who === "signed URL") return stranger;
  if (name === "streamEvents" && deps.settings.publicEvents && isAnonymous) return stranger;
  if (route.who === "job token" && isJobToken(credentials.bearer)) {
    return authenticateJob(deps, credentials.bearer, origin);
  }
  // The page asks before anybody has signed in; that is a question, not an attempt to get in.
  if (name === "getSession" && isAnonymous) throw new WritError("UNAUTHENTICATED", "nobody is signed in");
  if (credentials.session !== null) checkBrowser(context.env.incoming, deps.settings);
  return { identity: await authenticate(deps, credentials, origin), jobToken: null };
}

function checkRole({ who }: Route, { role }: Identity): void {
  if (who === "open" || who === "signed URL" || role === "admin") return;
  if (who !== "job token" && who.includes(role)) return;
  throw new WritError("PERMISSION_DENIED", `a ${role} token may not do this`);
}

/** Each name only once, because with two values it would be unclear which one is meant. */
function queryOf(context: HttpContext): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  for (const [name, values] of Object.entries(context.req.queries())) {
    if (values.length > 1) {
      throw invalidArgument({ path: name, message: `must be given once, not ${values.length} times` });
    }
    query[name] = values[0]!;
  }
  return query;
}

async function bodyOf(
  { bodies }: HttpDeps,
  { route, context }: Served,
  caller: { identity: Identity; origin: Origin },
): Promise<unknown> {
  const { incoming } = context.env;
  const limits = {
    bytesMax: route.bodyBytesMax ?? bodyBytes.ordinary,
    bodies,
    caller: callerOf(caller),
  };
  if (route.bodyKind === "bytes") return readBytes(incoming, limits);
  if (route.body === undefined) return undefined;
  const json = await readJson(incoming, limits);
  return parseShape(route.body, json);
}

function hangUpSignal(context: HttpContext): AbortSignal {
  const abort = new AbortController();
  const { outgoing } = context.env;
  if (outgoing.destroyed) abort.abort(hungUp);
  outgoing.once("close", () => abort.abort(hungUp));
  return abort.signal;
}
