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
  answers: Record<number, { description: string; shape?: z.ZodType; type?: string }>;
};

export const bodyBytes = { ordinary: 1024 ** 2, ending: 2 * 1024 ** 2, batch: 8 * 1024 ** 2 } as const;

/** Keeps the exact type of each row, so that handlers are typed by their route. */
export function route<const R extends Route>(row: R): R {
  return row;
}
