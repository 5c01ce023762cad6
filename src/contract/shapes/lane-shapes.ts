import { z } from "zod";

/** A lane as every reader of its tenant sees it. */
export const laneView = z.object({
  tenant_id: z.string(),
  name: z.string(),
  user_id: z.string().meta({ description: "Whose job has made it; that user's jobs may change its numbers" }),
  max_running: z.int().nullable(),
  rate: z.object({ limit: z.int(), period_sec: z.int(), burst: z.int() }).nullable(),
  active: z.int().meta({ description: "How many places are taken" }),
  unfinished: z.int().meta({ description: "How many jobs that have not ended name it" }),
  opens_at: z
    .int()
    .nullable()
    .meta({ description: "When its rate lets the next job start; null if it lets one start now" }),
  holders: z
    .array(z.object({ job_id: z.string(), until: z.int().nullable() }))
    .meta({ description: "The first jobs that have places, of those that the caller may read" }),
});
export type LaneView = z.infer<typeof laneView>;
