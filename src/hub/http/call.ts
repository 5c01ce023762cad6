import type { z } from "zod";
import type { JsonText } from "../../contract/routes/build-request.ts";
import type { Part, Route, StatusOf } from "../../contract/routes/route.ts";
import type { RouteName, routes } from "../../contract/routes/routes.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { JobToken } from "../../signing/job-token.ts";
import type { HubDeps } from "../deps.ts";
import type { Credentials } from "../use-cases/access/authenticate.ts";
import type { OpenBodies } from "./bodies/open-bodies.ts";
import type { Exchange } from "./exchange.ts";
import type { OpenStreams } from "./streams/open-streams.ts";

/** The dependencies of the transport, in addition to those of the use cases. */
export type HttpDeps = HubDeps & {
  streams: OpenStreams;
  bodies: OpenBodies;
};

type BodyOf<R> = R extends { bodyKind: "bytes" } ? Uint8Array : Part<R, "body">;

/** A checked request: its caller, its origin, and its data in the shapes of the route. */
export type Call<N extends RouteName> = {
  deps: HttpDeps;
  exchange: Exchange;
  identity: Identity;
  credentials: Credentials;
  /** The attempt of a job that calls with its own token; null for other callers. */
  jobToken: JobToken | null;
  origin: Origin;
  params: Part<(typeof routes)[N], "params">;
  query: Part<(typeof routes)[N], "query">;
  body: BodyOf<(typeof routes)[N]>;
  /** Aborted when the client has hung up. */
  signal: AbortSignal;
};

/** The body of a response that the handler has written to `outgoing` itself. */
export const written = Symbol("written");

type SentBody<A> = A extends { type: string }
  ? { body: string | typeof written }
  : A extends { shape: infer S extends z.ZodType }
    ? { body: z.input<S> | JsonText }
    : { body?: undefined };

/** The answer of a handler: a status that its route lists, with a body in the shape of that status. */
export type Answer<N extends RouteName> = AnswerOf<(typeof routes)[N]>;
type AnswerOf<R extends Route> = { [S in StatusOf<R>]: Headed<S> & SentBody<R["answers"][S]> }[StatusOf<R>];
type Headed<S> = { status: S; headers?: Readonly<Record<string, string>> };

/** An answer of any route, once its handler has been checked against the table. */
export type AnyAnswer = { status: number; headers?: Readonly<Record<string, string>>; body?: unknown };

export const done = { status: 204 } as const;

/** The header with the start of a list's next page; the last page has none. */
export function nextPage(cursor: string | number | null): Record<string, string> {
  return cursor === null ? {} : { "X-Next-Cursor": String(cursor) };
}

export type Handlers<Names extends RouteName = RouteName> = {
  [N in Names]: (call: Call<N>) => Promise<Answer<N>>;
};
