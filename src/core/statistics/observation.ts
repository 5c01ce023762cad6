import type { CountChanges } from "../jobs/effects.ts";
import { executionTimeMs } from "../jobs/execution-time.ts";
import type { JobRecord } from "../jobs/job.ts";

/** Why a job failed, as failures are counted. */
export type Cause = { type: string; code: string; reason: string };

/** One thing that happened to a job, or to several jobs alike, as far as statistics count it. */
export type Observation = { tenantId: string; type: string } & (
  | { kind: "submitted"; count: number }
  | { kind: "claimed"; waitMs: number }
  | { kind: "completed" | "cancelled"; runMs: number | null }
  | { kind: "failed"; runMs: number | null; code: string; reason: string }
);

/** Reasons may quote anything; causes are distinguished by their beginning. */
const reasonCharsMax = 120;

/** What a change of state means for statistics. A retry counts for nothing: the job has not ended. */
export function observationOf(after: JobRecord, { from, to }: CountChanges): Observation | null {
  const { tenantId, type } = after;
  if (from === null) return { tenantId, type, kind: "submitted", count: 1 };
  if (to === "assigned")
    return { tenantId, type, kind: "claimed", waitMs: since(after.runAt, after.claimedAt) ?? 0 };
  const runMs = executionTimeMs(after);
  if (to === "completed") return { tenantId, type, kind: "completed", runMs };
  if (to !== "failed" && to !== "quarantined") return null;
  if (after.failCode === "CANCELLED") return { tenantId, type, kind: "cancelled", runMs };
  const code = after.failDetail ?? after.failCode ?? "UNKNOWN";
  const reason = (after.failHistory.at(-1)?.reason ?? after.failReason ?? "").slice(0, reasonCharsMax);
  return { tenantId, type, kind: "failed", runMs, code, reason };
}

function since(start: number | null, end: number | null): number | null {
  return start === null || end === null ? null : Math.max(0, end - start);
}
