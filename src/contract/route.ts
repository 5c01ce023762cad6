import type { z } from "zod";
import type { Role } from "../core/identity.ts";

/**
 * One row of the HTTP API. The hub serves exactly these, the client calls them, the OpenAPI page shows them, and
 * the refusal tests are made from them, so that a route cannot exist in one place only.
 */
export type Route = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  /** Roles that may call it; an administrator always may. `open` needs no token. */
  who: readonly Role[] | "open";
  summary: string;
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  /** `bytes` bodies are passed on as they come. */
  bodyKind?: "json" | "bytes";
  bodyBytesMax?: number;
  answers: { readonly [S in SuccessStatus | RefusalStatus]?: AnswerRow };
};

/** Where the routes are below a hub's address. */
export const apiPrefix = "/api/v1";

type SuccessStatus = 200 | 201 | 202 | 204 | 206;
/** Refusals that a route has a word of its own for; their body is always the error. */
type RefusalStatus = 409;

/**
 * One answer of a route. A `shape` alone is JSON. A `type` is anything else: text, bytes or a stream that the handler
 * writes itself, and a `shape` beside it only describes that. Without either there is no body.
 */
export type AnswerRow = { description: string; shape?: z.ZodType; type?: string };

export const bodyBytes = { ordinary: 1024 ** 2, ending: 2 * 1024 ** 2, batch: 8 * 1024 ** 2 } as const;

/** Keeps the exact type of each row, so that handlers and calls are typed by their route. */
export function route<const R extends Route>(row: R): R {
  return row;
}

/** What the table says about a status, which need not be one that it names. */
export function answerRow(route: Route, status: number): AnswerRow | undefined {
  return (route.answers as Readonly<Record<number, AnswerRow>>)[status];
}

/** The statuses of success that a route names. */
export type StatusOf<R extends Route> = keyof R["answers"] & SuccessStatus;

/** What a shape of the route gives, or undefined when it has none. */
export type Part<R, K extends string> = R extends { [P in K]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
