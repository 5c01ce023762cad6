import type { JobDocument } from "../../contract/document.ts";
import { formatTraceparent } from "../../core/trace-context.ts";
import type { RunOutcome } from "../../runners/runner.ts";
import { newSpanId, spanOfJob, type Telemetry } from "../../runtime/telemetry/telemetry.ts";

type EndFacts = { outcome: RunOutcome; startedAtMs: number | null; endedAtMs: number; reportedAtMs: number };

/** Adds an attempt to the trace of its job: a span for the run, and below it one for the report. Why: ADR 0071. */
export class AttemptTrace {
  readonly #telemetry: Telemetry;
  readonly #workerId: string;
  /** Created when a span is recorded: without a collector no attempt needs one. */
  #spanId: string | undefined;
  #document: JobDocument | undefined;

  constructor(telemetry: Telemetry, workerId: string) {
    this.#telemetry = telemetry;
    this.#workerId = workerId;
  }

  /** Returns the TRACEPARENT of the process: its spans are below the run, if the run is recorded. */
  begin(document: JobDocument): string | undefined {
    this.#document = document;
    if (!this.#telemetry.isOn) return document.traceparent;
    this.#spanId = newSpanId();
    const span = spanOfJob(document, this.#spanId);
    return span === null ? document.traceparent : formatTraceparent(span);
  }

  end(attempt: number, { outcome, startedAtMs, endedAtMs, reportedAtMs }: EndFacts): void {
    if (this.#document === undefined || this.#spanId === undefined) return;
    const run = spanOfJob(this.#document, this.#spanId);
    if (run === null) return;
    const { job_id, type, tenant_id, run: spec } = this.#document;
    const attributes = {
      "writ.job.id": job_id,
      "writ.job.type": type,
      "writ.job.kind": spec.kind,
      "writ.job.attempt": attempt,
      "writ.tenant.id": tenant_id,
      "writ.worker.id": this.#workerId,
      "writ.outcome": outcome.kind,
    };
    const errorCode = outcome.kind === "failed" ? (outcome.detail ?? outcome.code) : undefined;
    const { traceId, spanId, parentSpanId } = run;
    if (startedAtMs !== null) {
      const times = { startMs: startedAtMs, endMs: endedAtMs };
      this.#telemetry.record({
        traceId,
        spanId,
        parentSpanId,
        name: "writ.run",
        ...times,
        attributes,
        errorCode,
      });
    }
    this.#telemetry.record({
      traceId,
      spanId: newSpanId(),
      parentSpanId: startedAtMs === null ? parentSpanId : spanId,
      name: "writ.report",
      startMs: endedAtMs,
      endMs: reportedAtMs,
      attributes,
    });
  }
}
