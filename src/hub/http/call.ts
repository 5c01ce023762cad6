import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import type { z } from "zod";
import type { RouteName, routes } from "../../contract/routes.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { HubDeps } from "../deps.ts";
import type { Credentials } from "../use-cases/access/authenticate.ts";
import type { OpenStreams } from "./open-streams.ts";

export type HttpEnv = { Bindings: { incoming: IncomingMessage; outgoing: ServerResponse } };
export type HttpContext = Context<HttpEnv>;

/** What the transport itself stands on, beside the use cases. */
export type HttpDeps = HubDeps & { streams: OpenStreams };

type Part<R, K extends string> = R extends { [P in K]: infer S extends z.ZodType } ? z.output<S> : undefined;
type BodyOf<R> = R extends { bodyKind: "bytes" } ? Uint8Array : Part<R, "body">;

/** A request that has passed the border: who, from where, and data in the shapes of its route. */
export type Call<N extends RouteName> = {
  deps: HttpDeps;
  context: HttpContext;
  identity: Identity;
  credentials: Credentials;
  origin: Origin;
  params: Part<(typeof routes)[N], "params">;
  query: Part<(typeof routes)[N], "query">;
  body: BodyOf<(typeof routes)[N]>;
  /** Aborted when the client has hung up. */
  signal: AbortSignal;
};

export type Handlers<Names extends RouteName = RouteName> = {
  [N in Names]: (call: Call<N>) => Promise<Response>;
};
