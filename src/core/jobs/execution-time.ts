import type { JobRecord } from "./job.ts";

/** How far the hub's own measure may be off before the worker's is kept: calls take a while, and clocks drift. */
const differsMs = 1_000;
const mark = '"run_ms":';

type Times = Pick<JobRecord, "claimedAt" | "startedAt" | "completedAt" | "usage">;

/**
 * How long the last attempt ran; null until it has ended. It is measured from the start, or from the claim if the start
 * was not reported, to the report of the end. If the hub was away when it started or ended, the worker's own measure is
 * better.
 */
export function executionTimeMs({ claimedAt, startedAt, completedAt, usage }: Times): number | null {
  const from = startedAt ?? claimedAt;
  if (from === null || completedAt === null) return null;
  return runMsIn(usage) ?? Math.max(0, completedAt - from);
}

/**
 * The usage of an attempt that has ended, with the time that its worker measured if the hub's is wrong. That time is
 * cut to what is possible: an attempt does not run before it is claimed.
 */
export function usageWithRunTime(ended: Times, ranMs: number | undefined): string | null {
  const { claimedAt, completedAt, usage } = ended;
  const measuredMs = executionTimeMs({ ...ended, usage: null });
  if (ranMs === undefined || measuredMs === null || claimedAt === null || completedAt === null) return usage;
  const isPossible = ranMs >= 0 && ranMs <= completedAt - claimedAt;
  if (!isPossible || Math.abs(measuredMs - ranMs) <= differsMs) return usage;
  return JSON.stringify({ ...(usage === null ? {} : JSON.parse(usage)), run_ms: ranMs });
}

/** As callers are shown it: the time is a field of the job. */
export function shownUsage(usage: string | null): string | null {
  if (usage === null || !usage.includes(mark)) return usage;
  const { run_ms: _, ...rest } = JSON.parse(usage);
  return Object.keys(rest).length === 0 ? null : JSON.stringify(rest);
}

function runMsIn(usage: string | null): number | null {
  if (usage === null || !usage.includes(mark)) return null;
  return (JSON.parse(usage) as { run_ms: number }).run_ms;
}
