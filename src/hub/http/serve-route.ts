import { bodyBytes, type Route } from "../../contract/routes/route.ts";
import { type RouteName, routes } from "../../contract/routes/routes.ts";
import { invalidArgument, WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { JobToken } from "../../signing/job-token.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { authenticate, type Credentials } from "../use-cases/access/authenticate.ts";
import { callerOf } from "../use-cases/access/caller-of.ts";
import { parseShape } from "../use-cases/access/parse-shape.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import { checkSession } from "../use-cases/access/sessions.ts";
import { recordRequest } from "../use-cases/audit/record-request.ts";
import { authenticateJob, isJobToken } from "../use-cases/files/authenticate-job.ts";
import { readPlainBatch, readPlainJob } from "../use-cases/jobs/plain-submissions.ts";
import { readPlainReports } from "../use-cases/workers/plain-reports.ts";
import { compressReply } from "./bodies/compress-reply.ts";
import { hungUp, keysMaxOf, readBytes, readJsonText } from "./bodies/read-body.ts";
import type { AnyAnswer, Call, HttpDeps } from "./call.ts";
import { checkBrowser, credentialsOf, originOf, sessionHeader } from "./credentials.ts";
import { type Exchange, headerOf, notInFrames } from "./exchange.ts";
import { handlers } from "./handlers/handlers.ts";
import { type Reply, replyTo } from "./reply.ts";

/** A request whose route is known, with the parameters of its path. */
type Served = { name: RouteName; exchange: Exchange; params: Readonly<Record<string, string>> };

/** Serves one call of a route. The checks come in this order: identity, role, data. Why: ADR 0005. */
export async function serveRoute(deps: HttpDeps, served: Served): Promise<Reply> {
  const { name, exchange } = served;
  const { incoming } = exchange;
  const route: Route = routes[name];
  const startedAt = deps.clock.monotonicMs();
  exchange.route = name;
  if ("body" in exchange.via && isStreamed(route)) throw notInFrames();
  const origin = originOf(incoming, deps.settings, { method: route.method, endpoint: route.path });
  const credentials = credentialsOf(deps, incoming);
  const caller = { identity: anonymous, origin };
  let request: { params?: unknown; query?: unknown; body?: unknown } = {};
  try {
    const { identity, jobToken } = await admit(deps, served, { credentials, origin });
    caller.identity = identity;
    caller.origin = { ...origin, userId: caller.identity.userId };
    exchange.identity = identity;
    if (jobToken === null) checkRole(route, caller.identity);
    request = {
      params: route.params && parseShape(route.params, served.params),
      query: route.query && parseShape(route.query, queryOf(exchange.search)),
      body: await bodyOf(deps, { name, exchange, caller }),
    };
    const call = {
      deps,
      exchange,
      ...caller,
      credentials,
      jobToken,
      ...request,
      // Created on first use, for calls that wait: an abort at the end of every small call would cost more than the
      // call.
      get signal() {
        return hangUpSignal(exchange);
      },
    };
    const handler = handlers[name] as (call: Call<RouteName>) => Promise<AnyAnswer>;
    const answer = await handler(call as Call<RouteName>);
    await recordRequest(deps, { ...request, ...caller, outcome: String(answer.status) });
    return compressReply(exchange, replyTo(route, answer));
  } catch (thrown) {
    const error = await recordDenial(deps, caller, thrown);
    await recordRequest(deps, { ...request, ...caller, outcome: outcomeOf(error) });
    throw error;
  } finally {
    const labels = { method: route.method, route: route.path };
    deps.metrics.requestSeconds.observe(labels, (deps.clock.monotonicMs() - startedAt) / 1000);
  }
}

/** A request or an answer that is not read or written as a whole. */
function isStreamed({ bodyKind, answers }: Route): boolean {
  return bodyKind === "stream" || Object.values(answers).some((row) => row?.type !== undefined);
}

export function outcomeOf(error: unknown): string {
  return error instanceof WritError ? error.code : "INTERNAL";
}

export const anonymous: Identity = {
  tokenId: "",
  role: "viewer",
  tenantId: null,
  userId: "anonymous",
  workerId: null,
};

async function admit(
  deps: HttpDeps,
  { name, exchange }: Served,
  { credentials, origin }: { credentials: Credentials; origin: Origin },
): Promise<{ identity: Identity; jobToken: JobToken | null }> {
  const route: Route = routes[name];
  const isAnonymous = credentials.bearer === null && credentials.session === null;
  const stranger = { identity: anonymous, jobToken: null };
  // Otherwise another site's page could sign a person in as its own user, who would then see what the person does.
  if (name === "createSession" && exchange.incoming.headers.origin !== undefined)
    checkBrowser(exchange.incoming, deps.settings);
  if (route.who === "open" || route.who === "signed URL") return stranger;
  if (name === "streamEvents" && deps.settings.publicEvents && isAnonymous) return stranger;
  if (route.who === "job token" && isJobToken(credentials.bearer)) {
    return authenticateJob(deps, credentials.bearer, origin);
  }
  // The page asks for the session before a person has signed in; that is not a failed login.
  if (name === "getSession" && isAnonymous)
    throw new WritError("UNAUTHENTICATED", "no session: sign in first");
  if (credentials.session !== null) {
    checkBrowser(exchange.incoming, deps.settings);
    checkSession(credentials.session, headerOf(exchange, sessionHeader));
  }
  return { identity: await authenticate(deps, credentials, origin), jobToken: null };
}

export function checkRole({ who }: Route, { role }: Identity): void {
  if (who === "open" || who === "signed URL" || role === "admin") return;
  if (who !== "job token" && who.includes(role)) return;
  throw new WritError("PERMISSION_DENIED", `a ${role} token may not do this`);
}

/** Each name may appear once, because two values would be ambiguous. */
function queryOf(search: string): Record<string, string> {
  const given = new URLSearchParams(search);
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of given) {
    if (name in query) {
      const count = given.getAll(name).length;
      throw invalidArgument({ path: name, message: `must be given once, not ${count} times` });
    }
    query[name] = value;
  }
  return query;
}

async function bodyOf(
  { bodies }: HttpDeps,
  request: {
    name: RouteName;
    exchange: Exchange;
    caller: { identity: Identity; origin: Origin };
  },
): Promise<unknown> {
  const { name, exchange, caller } = request;
  const route: Route = routes[name];
  const limits = {
    bytesMax: route.bodyBytesMax ?? bodyBytes.ordinary,
    bodies,
    caller: callerOf(caller),
  };
  if (route.bodyKind === "bytes") return readBytes(exchange, limits);
  if (route.body === undefined) return undefined;
  const text = await readJsonText(exchange, limits);
  const keysMax = keysMaxOf(limits.bytesMax);
  const plain = text === undefined ? null : (plainReaders[name]?.(text, keysMax) ?? null);
  if (plain !== null) return plain;
  return parseShape(route.body, text === undefined ? undefined : parseJson(text, { keysMax }));
}

/** Readers of common bodies; null for a body that the strict parser has to read. */
const plainReaders: Partial<Record<RouteName, (text: string, keysMax: number) => unknown>> = {
  submitJob: readPlainJob,
  submitJobs: readPlainBatch,
  finishJobs: readPlainReports,
};

export function hangUpSignal({ outgoing }: Exchange): AbortSignal {
  const abort = new AbortController();
  if (outgoing.destroyed) abort.abort(hungUp);
  outgoing.once("close", () => abort.abort(hungUp));
  return abort.signal;
}
