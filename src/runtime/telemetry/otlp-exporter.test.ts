import { expect, onTestFinished, test } from "vitest";
import { startCollector } from "../../../test/support/collector.ts";
import { systemClock } from "../clock/clock.ts";
import { silentLogger } from "../log/logger.ts";
import { OtlpExporter } from "./otlp-exporter.ts";
import { newSpanId, type Span } from "./telemetry.ts";

const span = (): Span => ({
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: newSpanId(),
  parentSpanId: null,
  name: "writ.run",
  startMs: 1_000,
  endMs: 2_000,
  attributes: { "writ.job.attempt": 1 },
});

async function open() {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const counts = { exported: 0, dropped: 0 };
  const exporter = new OtlpExporter({
    endpoint: collector.url,
    headers: null,
    resource: { "service.name": "test" },
    clock: systemClock,
    logger: silentLogger,
    counts: {
      exported: (count) => {
        counts.exported += count;
      },
      dropped: (count) => {
        counts.dropped += count;
      },
    },
  });
  return { collector, exporter, counts };
}

test("headers that are not headers are refused, and no value is in the error", async () => {
  const { parseHeaders } = await import("./otlp-headers.ts");
  for (const text of ["no-equals", "=value", "a b=c", "a=%zz", "a=line%0abreak"]) {
    expect(() => parseHeaders(text), text).toThrow(/^OTEL_EXPORTER_OTLP_HEADERS: must be name=value/);
  }
  expect(parseHeaders("Api-Key=a%2Cb, other = c")).toEqual({ "api-key": "a,b", other: "c" });
});

test("what the collector refuses is dropped and counted, and what it cannot take now is sent again", async () => {
  const { collector, exporter, counts } = await open();
  collector.status = 400;
  exporter.record(span());
  await exporter.start();
  await expect.poll(() => counts).toEqual({ exported: 0, dropped: 1 });
  collector.status = 503;
  exporter.record(span());
  const before = collector.requests.length;
  await expect.poll(() => collector.requests.length, { timeout: 10_000 }).toBeGreaterThan(before);
  expect(counts.dropped).toBe(1);
  collector.status = 200;
  await exporter.stop();
  expect(counts).toEqual({ exported: 1, dropped: 1 });
  expect(collector.spans).toMatchObject([
    {
      startTimeUnixNano: "1000000000",
      endTimeUnixNano: "2000000000",
      attributes: { "writ.job.attempt": "1" },
    },
  ]);
});

test("while the collector is away, a bounded number waits, recording never waits, and the rest is counted", async () => {
  const { collector, exporter, counts } = await open();
  await collector.stop();
  for (let count = 0; count < 10_000; count++) exporter.record(span());
  expect(counts.dropped).toBe(10_000 - 8_192);
  await exporter.start();
  await exporter.stop();
  expect(counts).toEqual({ exported: 0, dropped: 10_000 });
});
