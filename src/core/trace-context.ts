/**
 * Where a job belongs in a trace, as W3C Trace Context writes it: `00-TRACE-SPAN-FLAGS`, all in lower-case hex.
 * Why: ADR 0071.
 */
export type TraceContext = { traceId: string; spanId: string; isSampled: boolean };

export const traceparentHelp =
  "a W3C traceparent such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, with ids that are not all zeros";

const grammar = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;
const sampledFlag = 1;
/** What follows the flags in a later version is not kept; this much suffices to find them. */
const charsMax = 512;

/**
 * Null if the text is not one. A later version than 00 may have more fields at its end; the first four mean the same,
 * by the standard.
 */
export function parseTraceparent(text: string): TraceContext | null {
  const [, version, traceId, spanId, flags, more] = text.length > charsMax ? [] : (grammar.exec(text) ?? []);
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined)
    return null;
  if (version === "ff" || (version === "00" && more !== undefined)) return null;
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

/** In version 00, which everybody reads. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/**
 * A job without a context of its own gets the caller's, which tracing libraries send with each call. One that cannot be
 * read is ignored, as the standard demands: the person who submits did not choose it.
 */
export function inTraceOf<T extends { traceparent?: string | undefined }>(
  sent: string | undefined,
  job: T,
): T {
  if (job.traceparent !== undefined) return job;
  const context = parseTraceparent(sent ?? "");
  return context === null ? job : { ...job, traceparent: formatTraceparent(context) };
}

/** A job without a context is a trace of its own: a job id is 16 bytes, as the id of a trace is. */
export function traceOfJob({ job_id, traceparent }: { job_id: string; traceparent?: string | undefined }): {
  traceId: string;
  parentSpanId: string | null;
  isSampled: boolean;
} {
  const given = traceparent === undefined ? null : parseTraceparent(traceparent);
  if (given === null) return { traceId: job_id.replaceAll("-", ""), parentSpanId: null, isSampled: true };
  return { traceId: given.traceId, parentSpanId: given.spanId, isSampled: given.isSampled };
}
