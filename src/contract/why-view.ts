import { z } from "zod";
import { jobStates } from "../core/jobs/job.ts";
import { known } from "./shapes/fields.ts";

/** What can hold a pending job, by the names that programs compare. */
export const waitCodes = [
  "damaged",
  "lockdown",
  "hold",
  "run_at",
  "retry",
  "paused",
  "lane",
  "rate",
  "max_running",
  "no_worker",
  "no_fitting_worker",
  "workers_unavailable",
  "workers_full",
  "queue",
  "workers_not_asking",
] as const;
export type WaitCode = (typeof waitCodes)[number];

/** Why a job is in its current state. */
export const whyView = z.object({
  status: z.enum(jobStates),
  summary: z.string().meta({ description: "The first reason as one sentence, with what to do" }),
  position: z.int().nullable(),
  retry_due_at: z.int().nullable(),
  paused: z.boolean(),
  held_by: known(waitCodes)
    .nullable()
    .meta({ description: "The code of the first reason; null if nothing holds it" }),
  /** Everything that holds it now, what must end first at the beginning. Older hubs do not send it. */
  reasons: z.array(z.object({ code: known(waitCodes), text: z.string() })).optional(),
  /** How its last attempt failed. Older hubs do not send it. */
  failure: z
    .object({ code: z.string(), detail: z.string().nullable(), last_line: z.string().optional() })
    .nullable()
    .optional()
    .meta({ description: "Codes of the last attempt that failed, and what it wrote last to stderr" }),
  workers: z.array(z.object({ worker_id: z.string(), fits: z.boolean(), why: z.array(z.string()) })),
});
export type WhyView = z.infer<typeof whyView>;
