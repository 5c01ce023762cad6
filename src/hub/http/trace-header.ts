import { inTraceOf } from "../../core/trace-context.ts";
import { type Exchange, headerOf } from "./exchange.ts";

/** The job in the trace of the call that submits it, unless it names one itself. */
export function inTrace<T extends { traceparent?: string | undefined }>(exchange: Exchange, job: T): T {
  return inTraceOf(headerOf(exchange, "traceparent"), job);
}
