import { z } from "zod";
import { jobId } from "../../contract/shapes/fields.ts";

/** Arguments that several tools take. */
export const job = {
  job_id: jobId.meta({ description: "The id of the job, as run_job or list_jobs gave it" }),
};

export const attempt = z
  .int()
  .min(1)
  .optional()
  .meta({ description: "Which attempt; by default the latest" });
