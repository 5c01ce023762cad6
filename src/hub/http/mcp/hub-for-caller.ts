import type { RouteInput } from "../../../contract/routes/build-request.ts";
import { JsonText } from "../../../contract/routes/build-request.ts";
import type { RouteAnswer } from "../../../contract/routes/read-answer.ts";
import type { Route } from "../../../contract/routes/route.ts";
import { type RouteName, routes } from "../../../contract/routes/routes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import type { FoundOutput, McpHub, OutputPart } from "../../../mcp/mcp-hub.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { parseShape } from "../../use-cases/access/parse-shape.ts";
import { recordDenial } from "../../use-cases/access/record-denial.ts";
import { recordRequest } from "../../use-cases/audit/record-request.ts";
import { readArtifact } from "../../use-cases/files/read-artifact.ts";
import { findComparedJob, findJob } from "../../use-cases/jobs/find-job.ts";
import { type Output, openOutput } from "../../use-cases/jobs/read-output.ts";
import { showJob } from "../../use-cases/jobs/show-job.ts";
import type { AnyAnswer, Call, HttpDeps } from "../call.ts";
import type { Exchange } from "../exchange.ts";
import { handlers } from "../handlers/handlers.ts";
import { checkRole, outcomeOf } from "../serve-route.ts";

type McpCall = { exchange: Exchange; identity: Identity; origin: Origin; signal: AbortSignal };
type Request = { params?: unknown; query?: unknown; body?: unknown };

/**
 * This hub for a caller who is known, as the tools see it: each act is a call of a route, with the role, the checks, the
 * records and the handler of that route. Why: ADR 0119.
 */
export function hubForCaller(deps: HttpDeps, mcp: McpCall): McpHub {
  const { identity, signal } = mcp;
  return {
    call: (name, input) => callRoute(deps, mcp, { name, input }),
    readOutput: ({ jobId, stream, attempt }, part) => {
      const request = { params: { id: jobId, stream }, query: { attempt } };
      return actOn(deps, mcp, { name: "readOutput", request }, async (origin) =>
        readPart(await openOutput(deps, { identity, origin, jobId, stream, attempt }), part),
      );
    },
    readArtifact: ({ jobId, key, folderId, bytesMax }) => {
      const request = { params: { id: jobId, key }, query: { folder_id: folderId } };
      return actOn(deps, mcp, { name: "getArtifact", request }, (origin) =>
        readArtifact(deps, { identity, origin, jobId, key, folderId, bytesMax, signal }),
      );
    },
    waitForEnd: (jobId, timeoutMs) =>
      actOn(deps, mcp, { name: "getJob", request: { params: { id: jobId } } }, async (origin) => {
        const asked = { identity, origin, jobId, to: "read" } as const;
        await findJob(deps, asked);
        await waitForEnd(deps, { jobId, timeoutMs, signal });
        return showJob(deps, await findComparedJob(deps, asked), identity);
      }),
  };
}

async function callRoute<N extends RouteName>(
  deps: HttpDeps,
  mcp: McpCall,
  { name, input }: { name: N; input: RouteInput<(typeof routes)[N]> },
): Promise<RouteAnswer<(typeof routes)[N]>> {
  const route: Route = routes[name];
  const given = input as Request;
  const request: Request = {};
  const answer = await actOn(deps, mcp, { name, request }, async (origin) => {
    request.params = route.params && parseShape(route.params, given.params);
    request.query = route.query && parseShape(route.query, asTexts(given.query));
    request.body = route.body && parseShape(route.body, asSent(given.body));
    const handler = handlers[name] as (call: Call<RouteName>) => Promise<AnyAnswer>;
    const credentials = { bearer: null, session: null };
    return handler({ deps, ...mcp, origin, credentials, jobToken: null, ...request } as Call<RouteName>);
  });
  const { status, headers = {}, body } = answer;
  const byName = new Map(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]));
  // What a route returns is what its JSON says, here as over a wire.
  const text = body instanceof JsonText ? body.text : JSON.stringify(body);
  const value = text === undefined ? undefined : JSON.parse(text);
  return { status, body: value, header: (header: string) => byName.get(header) } as RouteAnswer<
    (typeof routes)[N]
  >;
}

/** As it arrives over a wire: what is undefined is not there, and numbers are as the canonical form has them. */
function asSent(body: unknown): JsonValue | undefined {
  const text = JSON.stringify(body);
  return text === undefined ? undefined : parseJson(text);
}

/** The shapes of queries read text. */
function asTexts(query: unknown): Record<string, string> {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** An act with the rights that its route needs, recorded like a call of that route. */
async function actOn<T>(
  deps: HttpDeps,
  { identity, origin: ofCall }: McpCall,
  { name, request }: { name: RouteName; request: Request },
  act: (origin: Origin) => Promise<T>,
): Promise<T> {
  const route: Route = routes[name];
  const origin = { ...ofCall, endpoint: `${ofCall.endpoint} ${route.method} ${route.path}` };
  const caller = { identity, origin };
  try {
    checkRole(route, identity);
    const result = await act(origin);
    await recordRequest(deps, { ...request, ...caller, outcome: "done" });
    return result;
  } catch (thrown) {
    const error = await recordDenial(deps, caller, thrown);
    await recordRequest(deps, { ...request, ...caller, outcome: outcomeOf(error) });
    throw error;
  }
}

async function readPart({ size, read }: Output, part: OutputPart): Promise<FoundOutput> {
  const start = "last" in part ? Math.max(0, size - part.last) : part.start;
  const end = "last" in part ? size : Math.min(size, part.end);
  if (start > size) throw new WritError("RANGE_NOT_SATISFIABLE", `the output has ${size} bytes`, { size });
  const pieces: Buffer[] = [];
  if (start < end) for await (const piece of read(start, end)) pieces.push(piece);
  return { size, start, bytes: Buffer.concat(pieces) };
}

type Waiting = { jobId: string; timeoutMs: number; signal: AbortSignal };

/** Until the job has ended, the time is over or the caller has left. */
async function waitForEnd({ feed, clock }: HttpDeps, { jobId, timeoutMs, signal }: Waiting): Promise<void> {
  const over = new AbortController();
  const timer = clock.setTimer(() => over.abort(), timeoutMs);
  try {
    const either = AbortSignal.any([signal, over.signal]);
    await feed.waitForJob(jobId, ({ job }) => isEnded(job.status), either);
  } catch (error) {
    // That the time is over is no failure: the caller is shown the job as it is.
    if (!over.signal.aborted || signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
}
