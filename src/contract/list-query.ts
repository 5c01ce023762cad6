import { z } from "zod";
import { isJobId } from "../core/ids.ts";
import { type FailureClass, failureClasses, failureCodes, failureDetails } from "../core/jobs/failure.ts";
import { type JobState, jobStates, type ListedState, pendingParts } from "../core/jobs/job.ts";
import { timeMsMax } from "../core/text/time-text.ts";
import {
  integer,
  jobId,
  label,
  orderName,
  queryFlag,
  queryInteger,
  tenantId,
  text,
  userId,
  workerId,
} from "./shapes/fields.ts";

const statusAllowed = `${jobStates.join(", ")}, waiting or scheduled for a part of pending, or dead for quarantined; several with commas`;

const statuses = z.string().transform((value, context): ListedState[] => {
  const names = value.split(",").map((name) => (name === "dead" ? "quarantined" : name));
  if (names.every(isState)) return names;
  context.addIssue({ code: "custom", message: `must be ${statusAllowed}` });
  return z.NEVER;
});

function isState(name: string): name is ListedState {
  return ([...jobStates, ...pendingParts] as readonly string[]).includes(name);
}

const typeOrPrefix = z
  .string()
  .regex(
    /^[A-Za-z0-9._-]{1,100}\*?$/,
    "must be 1 to 100 letters, digits, . _ or -, with a * at its end for all types that begin so",
  );

const moment = queryInteger(0, timeMsMax);

const classes = Object.keys(failureClasses) as FailureClass[];
const otherThan = classes.map((code) => `!${code}` as const);
const failCode = z
  .enum(
    [...failureCodes, ...otherThan],
    `must be one of ${classes.join(", ")}, or with ! before it any other; or a detail: ${Object.keys(failureDetails).join(", ")}`,
  )
  .meta({ description: "A failure code or detail code; or a code with ! before it, for any other" });

const idPart = z
  .string()
  .regex(/^[0-9a-f-]{6,36}$/, "must be the first 8 or more, or the last 6 or more, characters of an id");

/** Which jobs a list shows. */
export const listFilter = z.strictObject({
  status: statuses.optional(),
  type: typeOrPrefix.optional(),
  worker_id: workerId.optional(),
  user_id: userId.optional(),
  tenant_id: tenantId.optional(),
  fail_code: failCode.optional(),
  label: label.optional(),
  schedule: orderName.optional(),
  since: moment.optional(),
  until: moment.optional(),
  q: text(1, 100).optional(),
  id: idPart.optional(),
});
export type ListFilter = z.infer<typeof listFilter>;

/** Beyond this many jobs, a cursor takes less time than counting. */
const offsetMax = 10_000;
const listFields = ["summary", "full"] as const;

const idsMax = 100;
/** Several ids with commas. */
const someIds = z.string().transform((value, context): string[] => {
  const ids = value.split(",");
  if (ids.length <= idsMax && ids.every(isJobId)) return ids;
  context.addIssue({ code: "custom", message: `must be 1 to ${idsMax} ids of jobs, with commas` });
  return z.NEVER;
});

export const listQuery = listFilter.extend({
  ids: someIds.optional(),
  fields: z.enum(listFields, "must be summary or full").optional(),
  count: queryFlag.optional(),
  limit: queryInteger(1, 1000).optional(),
  offset: z
    .string()
    .regex(/^\d{1,5}$/, `must be a whole number from 0 to ${offsetMax}; use cursor beyond that`)
    .transform(Number)
    .refine((offset) => offset <= offsetMax, `must be at most ${offsetMax}; use cursor beyond that`)
    .optional(),
  cursor: text(1, 100).optional(),
});

const countView = z.object({
  count: z.int(),
  is_more: z.boolean().meta({ description: "Counting ended early: there may be more" }),
});

/**
 * How many jobs are in each state. A cancelled job is stored as failed, and a scheduled one as pending; people who count
 * failures, or what waits, do not mean those.
 */
export const jobCounts = z.object({
  pending: countView,
  scheduled: countView,
  assigned: countView,
  running: countView,
  completed: countView,
  failed: countView,
  cancelled: countView,
  quarantined: countView,
} satisfies Record<JobState | "scheduled" | "cancelled", typeof countView>);
export type JobCounts = z.infer<typeof jobCounts>;

/** The same filter in a body, where times are numbers. */
const bulkFilter = listFilter.extend({
  since: integer(0, timeMsMax).optional(),
  until: integer(0, timeMsMax).optional(),
});
export type BulkFilter = z.infer<typeof bulkFilter>;

/** How many jobs one call can name or find. */
export const bulkJobsMax = 10_000;

export const bulkRequest = z
  .strictObject({
    act: z.enum(["cancel", "retry"], "must be cancel or retry"),
    ids: z.array(jobId).max(bulkJobsMax).optional(),
    filter: bulkFilter.optional(),
    dry_run: z.boolean().optional(),
  })
  .superRefine(({ ids, filter }, context) => {
    if ((ids === undefined) === (filter === undefined))
      context.addIssue({
        code: "custom",
        path: ["filter"],
        message: "give either ids or filter; {} is every job",
      });
  });

export const bulkAnswer = z.object({
  matched: z.int().meta({ description: "Jobs that were chosen; in a dry run, those that would be changed" }),
  done: z.int(),
  left: z.array(z.object({ id: z.string(), why: z.string() })),
  more: z.boolean().meta({ description: "There are more jobs than one call changes; call again" }),
});
