import { isJobId } from "../../../core/ids.ts";
import type { HubDeps } from "../../deps.ts";

/**
 * Makes what a job has said survive a power failure. A failure is told to the worker, which tries again and keeps its
 * copy until then, and to the log, because a disk that does not sync is about to fail.
 */
export async function syncOutput(
  { outputs, outputsDir, logger }: Pick<HubDeps, "outputs" | "outputsDir" | "logger">,
  jobId: string,
): Promise<void> {
  // Whatever else it is, it has no output.
  if (!isJobId(jobId)) return;
  try {
    await outputs.syncJob(outputsDir, jobId);
  } catch (error) {
    logger.error({ err: error, job_id: jobId }, "output could not be synced");
    throw error;
  }
}
