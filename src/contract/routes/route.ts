import type { z } from "zod";
import type { Role } from "../../core/identity.ts";

/**
 * One row of the HTTP API. The hub serves exactly these rows, the client calls them, the OpenAPI page shows them, and
 * the refusal tests are generated from them, so that a route cannot exist in one place only. Why: ADR 0005, ADR 0082.
 */
export type Route = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /**
   * A POST that changes no more when it arrives twice: by a key, a fence or an offset in it, or by what it does. Only
   * such a call is sent again when its answer was lost. The other methods are of this kind by themselves.
   */
  mayRepeat?: true;
  path: string;
  /** The parameter at the end of the path that may contain slashes. */
  tail?: string;
  /**
   * The roles that may call it; an administrator always may. `open` needs no token. `job token` is for the attempt of a
   * job, `signed URL` for everybody who was given the address: it contains what may be done.
   */
  who: readonly Role[] | "open" | "job token" | "signed URL";
  summary: string;
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  /** `bytes` bodies are passed on when they have arrived; a `stream` is read by the handler, whatever its size. */
  bodyKind?: "json" | "bytes" | "stream";
  bodyBytesMax?: number;
  /** Request headers that it reads, in addition to those of every route. */
  headers?: { readonly [name: string]: { description: string; required?: boolean } };
  answers: { readonly [S in SuccessStatus | RefusalStatus]?: AnswerRow };
};

/** Where the routes are below a hub's address. */
export const apiPrefix = "/api/v1";

type SuccessStatus = 200 | 201 | 202 | 204 | 206 | 302;
/** Refusals for which a route has its own description. Their body is the error, unless they have a shape. */
type RefusalStatus = 403 | 409 | 503;

/**
 * One response of a route. A `shape` alone is JSON. A `type` is anything else: text, bytes or a stream that the handler
 * writes itself; a `shape` beside it only describes that. Without either there is no body.
 */
export type AnswerRow = {
  description: string;
  shape?: z.ZodType;
  type?: string;
  /** What its type may be too, such as `image/*`. */
  alsoType?: string;
  /** Headers that it may have, with what they contain. */
  headers?: { readonly [name: string]: string };
};

/** The header of a list that has a next page. */
export const nextCursor = { "X-Next-Cursor": "`cursor` of the next page; the last page has none" } as const;

export const bodyBytes = { ordinary: 1024 ** 2, ending: 2 * 1024 ** 2, batch: 8 * 1024 ** 2 } as const;

/** Keeps the exact type of each row, so that handlers and calls are typed by their route. */
export function route<const R extends Route>(row: R): R {
  return row;
}

/** The table's entry for a status, if it lists that status. */
export function answerRow(route: Route, status: number): AnswerRow | undefined {
  return (route.answers as Readonly<Record<number, AnswerRow>>)[status];
}

/** The success statuses that a route lists. */
export type StatusOf<R extends Route> = keyof R["answers"] & SuccessStatus;

/** The value that a shape of the route describes, or undefined if it has none. */
export type Part<R, K extends string> = R extends { [P in K]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
