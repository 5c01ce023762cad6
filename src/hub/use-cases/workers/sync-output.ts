import { isJobId } from "../../../core/ids.ts";
import type { HubDeps } from "../../deps.ts";

/**
 * Makes a job's output survive a power failure. A failed sync is reported to the worker, which tries again and keeps
 * its copy until then, and is logged, because a disk that does not sync is about to fail.
 */
export async function syncOutput(
  { outputs, failures }: Pick<HubDeps, "outputs" | "failures">,
  jobId: string,
): Promise<void> {
  // A text that is not a job's id has no output.
  if (!isJobId(jobId)) return;
  try {
    await outputs.appended.sync(jobId);
  } catch (error) {
    failures.error(error, "output could not be synced", { job_id: jobId });
    throw error;
  }
}
