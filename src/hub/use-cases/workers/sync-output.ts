import { isJobId } from "../../../core/ids.ts";
import type { HubDeps } from "../../deps.ts";

/**
 * Makes a job's output survive a power failure. A failure is reported to the worker, which tries again and keeps its
 * copy until then, and is logged, because a disk that does not sync is about to fail.
 */
export async function syncOutput(
  { outputs, logger }: Pick<HubDeps, "outputs" | "logger">,
  jobId: string,
): Promise<void> {
  // Whatever else it is, it has no output.
  if (!isJobId(jobId)) return;
  try {
    await outputs.sync(jobId);
  } catch (error) {
    logger.error({ err: error, job_id: jobId }, "output could not be synced");
    throw error;
  }
}
