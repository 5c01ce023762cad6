import { expect, test } from "vitest";
import { formatTraceparent, parseTraceparent, traceOfJob } from "./trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

test.each([
  "",
  "00",
  `00-${traceId}-${spanId}`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-1`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}-01\n`,
  ` 00-${traceId}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `0-${traceId}-${spanId}-01`,
  `01-${traceId}-${spanId}-01more`,
  `01-${traceId}-${spanId}-01-${"x".repeat(500)}`,
])("%j is not a traceparent", (text) => {
  expect(parseTraceparent(text)).toBeNull();
});

test("a context is read and written, and later versions are read by their first fields", () => {
  const context = { traceId, spanId, isSampled: true };
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual(context);
  expect(parseTraceparent(`00-${traceId}-${spanId}-02`)).toEqual({ ...context, isSampled: false });
  expect(parseTraceparent(`cc-${traceId}-${spanId}-09-what-comes-later`)).toEqual(context);
  expect(formatTraceparent(context)).toBe(`00-${traceId}-${spanId}-01`);
  expect(formatTraceparent({ ...context, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`);
});

test("a job without a context is a trace of its own, by its id", () => {
  const job_id = "01a1e2df-90b3-7c01-8d52-6e5a2b3c4d5e";
  const own = { traceId: "01a1e2df90b37c018d526e5a2b3c4d5e", parentSpanId: null, isSampled: true };
  expect(traceOfJob({ job_id })).toEqual(own);
  expect(traceOfJob({ job_id, traceparent: `00-${traceId}-${spanId}-00` })).toEqual({
    traceId,
    parentSpanId: spanId,
    isSampled: false,
  });
});
