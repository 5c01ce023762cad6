import type { Span } from "./telemetry.ts";

const spanKinds = { internal: 1, server: 2 } as const;
const statusError = 2;

/** The body of an export request, in the JSON form of OTLP. */
export function otlpBody(resource: Readonly<Record<string, string>>, spans: readonly Span[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "writ" }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

function spanOf(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: span.isServer === true ? spanKinds.server : spanKinds.internal,
    startTimeUnixNano: nanoText(span.startMs),
    endTimeUnixNano: nanoText(Math.max(span.startMs, span.endMs)),
    attributes: attributesOf(span.attributes),
    ...(span.errorCode === undefined ? {} : { status: { code: statusError, message: span.errorCode } }),
  };
}

function attributesOf(attributes: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  }));
}

/** 64-bit numbers are texts in this form. */
function nanoText(ms: number): string {
  return `${Math.round(ms)}000000`;
}
