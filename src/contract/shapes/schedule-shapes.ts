import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { parseCron } from "../../core/schedules/cron.ts";
import { catchUps, overlaps } from "../../core/schedules/schedule.ts";
import { integer, known, orderName, queryInteger, tenantId, text, timeMs } from "./fields.ts";
import { contradictions, submissionFields } from "./submit-shapes.ts";

/** A submission without what each of its jobs has for itself. */
export const templateJob = submissionFields
  .omit({ job_id: true, idempotency_key: true, run_at: true, delay_ms: true, traceparent: true })
  .superRefine((job, context) => {
    for (const { path, message } of contradictions(job))
      context.addIssue({ code: "custom", path: [path], message });
  });
export type TemplateJob = z.infer<typeof templateJob>;

const everySecMax = 31_536_000;

/** The sentence of the parser says which field of the expression is wrong. */
const cronText = text(1, 200).superRefine((value, context) => {
  try {
    parseCron(value);
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    context.addIssue({ code: "custom", message: error.message.replace(/^cron: /, "") });
  }
});

export const scheduleBody = z
  .strictObject({
    job: templateJob,
    cron: cronText.optional().meta({
      description: "Minute, hour, day of month, month, weekday; with six fields, seconds first",
    }),
    every_sec: integer(1, everySecMax, "seconds").optional(),
    time_zone: text(1, 64).optional().meta({ description: "An IANA name; UTC if it is left out" }),
    start_at: timeMs.optional(),
    end_at: timeMs.optional(),
    max_runs: integer(1, 1_000_000_000).optional(),
    jitter_sec: integer(0, everySecMax / 2, "seconds").optional(),
    catch_up: z.enum(catchUps).optional(),
    catch_up_sec: integer(0, everySecMax, "seconds").optional(),
    overlap: z.enum(overlaps).optional(),
    paused: z.boolean().optional(),
  })
  .superRefine(({ cron, every_sec, time_zone, start_at, end_at }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if ((cron === undefined) === (every_sec === undefined))
      refuse("cron", "give cron or every_sec, and not both");
    if (every_sec !== undefined && time_zone !== undefined)
      refuse("time_zone", "belongs to cron; an interval counts elapsed time");
    if (end_at !== undefined && end_at <= (start_at ?? 0)) refuse("end_at", "must be after start_at");
  });

export const orderParams = z.strictObject({ name: orderName });
/** Only an administrator of the hub names another tenant than its own. */
export const tenantQuery = z.strictObject({ tenant: tenantId.optional() });
export const orderList = tenantQuery.extend({
  limit: queryInteger(1, 1000).optional(),
  cursor: text(1, 200).optional(),
});
export const backfillBody = z.strictObject({ from: timeMs, to: timeMs });

const occurrenceView = z.object({
  occurrence: z.string().meta({ description: "A fixed local time with its zone, or an instant" }),
  at: z.int(),
  outcome: known(["fired", "skipped"]),
  job_id: z.string().nullable(),
  ts: z.int(),
});

export const scheduleStates = ["active", "paused", "ended", "blocked", "damaged"] as const;

export const scheduleView = z.object({
  name: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  state: known(scheduleStates),
  job: z.record(z.string(), z.unknown()).nullable(),
  cron: z.string().nullable(),
  every_sec: z.int().nullable(),
  time_zone: z.string(),
  start_at: z.int().nullable(),
  end_at: z.int().nullable(),
  max_runs: z.int().nullable(),
  jitter_sec: z.int(),
  catch_up: known(catchUps),
  catch_up_sec: z.int(),
  overlap: known(overlaps),
  paused: z.boolean(),
  next: z.array(z.int()).meta({ description: "The next five times, without jitter" }),
  waiting: z.int().meta({ description: "Occurrences that are due and have no job yet" }),
  runs: z.int(),
  last: z.object({ job_id: z.string(), occurrence: z.string(), at: z.int() }).nullable(),
  blocked: z.object({ since: z.int(), reason: z.string() }).nullable(),
  past: z.array(occurrenceView).optional(),
  created_at: z.int(),
  changed_at: z.int(),
});
export const firedView = z.object({ job_id: z.string() });
export const backfillView = z.object({ added: z.int() });
