import { randomBytes } from "node:crypto";
import { type TraceContext, traceOfJob } from "../../core/trace-context.ts";
import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/logger.ts";
import type { Service } from "../service.ts";

/** One thing that took time, as OpenTelemetry sees it. Attributes name things; they never contain what a job was given. */
export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  isServer?: boolean;
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number>>;
  /** A code, not a message: messages may repeat what a job wrote. */
  errorCode?: string | undefined;
};

export type Telemetry = Service & {
  /** False: nothing is recorded, and nothing has to be prepared for it. */
  readonly isOn: boolean;
  /** Never waits and never throws. */
  record(span: Span): void;
};

/** What becomes of spans: sent to the collector, or given up because it is away or too slow. */
type SpanCounts = { exported(count: number): void; dropped(count: number): void };

export type TelemetryOptions = {
  /** The base address of a collector; null: no telemetry. */
  endpoint: string | null;
  /** `name=value`, separated by commas, as OTEL_EXPORTER_OTLP_HEADERS has them. */
  headers: string | null;
  resource: Readonly<Record<string, string>>;
  clock: Clock;
  logger: Logger;
  counts: SpanCounts;
};

const noTelemetry: Telemetry = {
  name: "telemetry",
  isOn: false,
  record() {},
  start: async () => {},
  stop: async () => {},
};

/** The exporter is loaded only where a collector is named. Why: ADR 0071. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { endpoint } = options;
  if (endpoint === null) return noTelemetry;
  const { OtlpExporter } = await import("./otlp-exporter.ts");
  return new OtlpExporter({ ...options, endpoint });
}

export function newSpanId(): string {
  return randomBytes(8).toString("hex");
}

/** A span below the caller's, or the first of the job's own trace; null if the caller does not want it to be kept. */
export function spanOfJob(
  job: { job_id: string; traceparent?: string | undefined },
  spanId = newSpanId(),
): (TraceContext & { parentSpanId: string | null }) | null {
  const { traceId, parentSpanId, isSampled } = traceOfJob(job);
  return isSampled ? { traceId, parentSpanId, spanId, isSampled } : null;
}
