import { setImmediate } from "node:timers/promises";
import type { JobSummary } from "../../../contract/shapes/view-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { compareJob } from "../receipts/compare-job.ts";
import { listJobs } from "./list-jobs.ts";
import { showJob } from "./show-job.ts";

const wholeJobsMax = 50;
const wholeBytesMax = 4 * 1024 ** 2;

/**
 * The list with whole jobs: a limited number of jobs and bytes, read one by one, so that other calls are served in
 * between.
 */
export async function listWholeJobs(
  deps: HubDeps,
  request: Parameters<typeof listJobs>[1],
): Promise<{ jobs: JobSummary[]; nextCursor: string | null; lastEventSeq: number }> {
  if (request.limit > wholeJobsMax) {
    throw invalidArgument({ path: "limit", message: `must be at most ${wholeJobsMax} with fields=full` });
  }
  const { identity } = request;
  const page = await listJobs(deps, request);
  // Jobs are read after this event, so they may be newer than it, but never older.
  const { lastEventSeq } = page;
  const jobs: JobSummary[] = [];
  let bytes = 0;
  let lastSeq: number | null = null;
  for (const { job } of page.jobs) {
    const found = await deps.store.getJob({ jobId: job.id, isCompared: true });
    if (found === null) continue;
    const stored = await compareJob(deps, found);
    bytes += bytesOf(stored);
    if (bytes > wholeBytesMax && lastSeq !== null) return { jobs, nextCursor: String(lastSeq), lastEventSeq };
    const view = await showJob(deps, stored, identity);
    jobs.push({ ...view, cut: [] });
    lastSeq = job.seq;
    await setImmediate();
  }
  return { jobs, nextCursor: page.nextCursor, lastEventSeq };
}

function bytesOf({ job, document }: StoredJob): number {
  return document.length + (job.result?.length ?? 0) + (job.partialResult?.length ?? 0);
}
