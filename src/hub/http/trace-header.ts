import { formatTraceparent, parseTraceparent } from "../../core/trace-context.ts";
import { type Exchange, headerOf } from "./exchange.ts";

/**
 * A job without a context of its own gets the caller's, which tracing libraries send with each call. One that cannot be
 * read is ignored, as the standard demands: it is not the person's who submits.
 */
export function inTrace<T extends { traceparent?: string | undefined }>(exchange: Exchange, job: T): T {
  if (job.traceparent !== undefined) return job;
  const context = parseTraceparent(headerOf(exchange, "traceparent") ?? "");
  return context === null ? job : { ...job, traceparent: formatTraceparent(context) };
}
