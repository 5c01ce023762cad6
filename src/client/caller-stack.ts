import { WritError } from "../core/errors.ts";

/** The stack of a call that is answered elsewhere. Nothing is written out before somebody reads it. */
export type CallSite = { stack?: string };

/** Without the frames of `below` and of what it calls. */
export function callSite(below: (...given: never[]) => unknown): CallSite {
  const site: CallSite = {};
  Error.captureStackTrace(site, below);
  return site;
}

/** The error for one of several callers that share it, with the stack of its own call. */
export function atSite(error: unknown, { stack = "" }: CallSite): unknown {
  if (!(error instanceof WritError)) return error;
  const own = new WritError(error.code, error.message, error.details);
  own.stack = `${own.name}: ${own.message}${stack.slice(Math.max(0, stack.indexOf("\n")))}`;
  return own;
}
