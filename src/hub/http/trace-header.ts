import { inTraceOf } from "../../core/trace-context.ts";
import { type Exchange, headerOf } from "./exchange.ts";

/** Puts a job into the trace of the call that submits it, unless it names another. */
export function inTrace<T extends { traceparent?: string | undefined }>(exchange: Exchange, job: T): T {
  return inTraceOf(headerOf(exchange, "traceparent"), job);
}
