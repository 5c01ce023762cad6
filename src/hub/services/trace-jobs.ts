import type { NewJob } from "../../core/jobs/job.ts";
import { spanOfJob, type Telemetry } from "../../runtime/telemetry/telemetry.ts";
import type { ClaimedJob } from "../../store/store.ts";

type Deps = { telemetry: Telemetry };

/** A span for each job that a call has submitted. Why: ADR 0071. */
export function traceSubmitted(
  { telemetry }: Deps,
  jobs: readonly NewJob[],
  times: { startMs: number; endMs: number },
): void {
  if (!telemetry.isOn) return;
  for (const { id, type, tenantId, document } of jobs) {
    const span = spanOfJob(traced(id, document));
    if (span === null) continue;
    const { traceId, spanId, parentSpanId } = span;
    const attributes = { "writ.job.id": id, "writ.job.type": type, "writ.tenant.id": tenantId };
    telemetry.record({
      ...{ traceId, spanId, parentSpanId, ...times, attributes },
      name: "writ.submit",
      isServer: true,
    });
  }
}

/** A span for the time that each of these jobs has waited since it could be claimed. */
export function traceWaits({ telemetry }: Deps, claimed: readonly ClaimedJob[]): void {
  if (!telemetry.isOn) return;
  for (const { job, document } of claimed) {
    const span = spanOfJob(traced(job.id, document));
    if (span === null || job.claimedAt === null) continue;
    const { traceId, spanId, parentSpanId } = span;
    telemetry.record({
      ...{ traceId, spanId, parentSpanId, name: "writ.queue" },
      startMs: job.runAt,
      endMs: job.claimedAt,
      attributes: {
        "writ.job.id": job.id,
        "writ.job.type": job.type,
        "writ.job.attempt": job.attempt,
        "writ.tenant.id": job.tenantId,
        "writ.worker.id": job.workerId ?? "",
      },
    });
  }
}

/** Most documents have no trace, and need not be parsed. */
function traced(job_id: string, document: string): { job_id: string; traceparent?: string | undefined } {
  if (!document.includes('"traceparent":')) return { job_id };
  const { traceparent } = JSON.parse(document) as { traceparent?: string };
  return { job_id, traceparent };
}
