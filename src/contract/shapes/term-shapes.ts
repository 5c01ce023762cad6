// The fields of a job that only the hub reads: they are in its terms, and not in the document. Why: ADR 0128.
import { z } from "zod";
import { failureClasses, failureDetails } from "../../core/jobs/failure.ts";
import { backoffs, isDecidedByPolicy, retriesMax, retryDelaySecMax } from "../../core/retry/retry-policy.ts";
import { onDuplicates, uniqueUntils, waitFactor } from "../../core/unique/unique.ts";
import { decimal, integer, known, label, text } from "./fields.ts";

const failuresMax = 32;
const failureAllowed = "must be a failure code, a code of your own or an exit code from 0 to 255";
const failures = z
  .array(
    z.union(
      [
        z.int(failureAllowed).min(0, failureAllowed).max(255, failureAllowed),
        z.string().regex(/^[\w.:/-]{1,100}$/, failureAllowed),
      ],
      failureAllowed,
    ),
  )
  .min(1)
  .max(failuresMax);

const retry = z
  .strictObject({
    max: integer(0, retriesMax).optional().meta({
      description:
        "How often a timeout or an error is tried again (default: 2); lost workers are not counted",
    }),
    delay_sec: integer(0, retryDelaySecMax, "seconds").optional().meta({ description: "Default: 30" }),
    backoff: z
      .enum(backoffs, `must be ${backoffs.join(", ")}`)
      .optional()
      .meta({
        description:
          "How the delay grows: not at all, by itself each time (the default), or to twice as much",
      }),
    max_delay_sec: integer(0, retryDelaySecMax, "seconds").optional().meta({ description: "Default: 3600" }),
    jitter: decimal(0, 1).optional().meta({
      description:
        "By up to which part of itself a delay is shorter, so that jobs that failed together come apart",
    }),
    on: failures.optional().meta({ description: "Only these failures are tried again" }),
    not_on: failures.optional().meta({ description: "These failures are not tried again" }),
  })
  .meta({ description: "How the job is tried again after a timeout or an error of its work" });

const yearSec = 365 * 86_400;

const labelsMax = 16;

const windowSecMax = 604_800;

const unique = z
  .strictObject({
    key: text(1, 200).meta({ description: "At most one job of the tenant has it" }),
    until: z.enum(uniqueUntils, `must be ${uniqueUntils.join(", ")}`).meta({
      description: "The job gives it back at its first start, at its end, or when the window is over",
    }),
    window_sec: integer(1, windowSecMax, "seconds")
      .optional()
      .meta({ description: "Counted from the submission; for until window" }),
    on_duplicate: z
      .enum(onDuplicates, `must be ${onDuplicates.join(", ")}`)
      .optional()
      .meta({
        description:
          "What becomes of a job that comes while another one has the key: that one stands for it (keep, the default), it ends in favour of the new one (replace), or it starts later (postpone)",
      }),
    debounce_sec: integer(1, windowSecMax, "seconds").optional().meta({
      description: "For postpone: the job starts this long after the last duplicate",
    }),
    max_wait_sec: integer(1, windowSecMax * waitFactor, "seconds")
      .optional()
      .meta({
        description: `For postpone: at most this long after it was submitted (default: ${waitFactor} times debounce_sec)`,
      }),
  })
  .meta({ description: "A key that at most one job of the tenant has" });

const laneNameAllowed = "must be 1 to 100 letters, digits, . _ - : or /, and not . or ..";
const laneName = z
  .string()
  .regex(/^(?!\.{1,2}$)[A-Za-z0-9._:/-]{1,100}$/, laneNameAllowed)
  .meta({ description: "A concurrency key: all jobs of the tenant that name it share its places" });

const lane = z.strictObject({
  name: laneName,
  max_running: integer(1, 10_000).optional().meta({ description: "How many of its jobs may run at once" }),
  rate: z
    .strictObject({
      limit: integer(1, 1_000_000),
      period_sec: integer(1, 86_400, "seconds"),
      burst: integer(1, 1_000_000)
        .optional()
        .meta({ description: "How many may start at once after a pause (default: 1)" }),
    })
    .optional()
    .meta({ description: "How many of its jobs may start in a time" }),
});

const lanesMax = 3;

export const termFields = {
  retry: retry.optional(),
  finish_within_sec: integer(1, yearSec, "seconds").optional().meta({
    description:
      "End the job as EXPIRED if it has not completed this long after it was accepted, retries included",
  }),
  labels: z
    .array(label)
    .max(labelsMax, `must be at most ${labelsMax}`)
    .refine((labels) => new Set(labels).size === labels.length, "must name each label once")
    .optional()
    .meta({ description: "Words by which jobs are found and changed together" }),
  unique: unique.optional(),
  keep_sec: integer(0, yearSec, "seconds").optional().meta({
    description:
      "Delete the job with its result and output this long after its end, instead of after the hub's retention; its receipt stays",
  }),
  lanes: z.array(lane).min(1).max(lanesMax).optional().meta({
    description: "Concurrency keys and rate limits: the job starts when each of them has room",
  }),
};

const names = z.array(z.union([z.string(), z.int()]));

/** As they were submitted; what was left out has its default. */
export const termViews = {
  retry: z
    .looseObject({
      max: z.int().optional(),
      delay_sec: z.int().optional(),
      backoff: known(backoffs).optional(),
      max_delay_sec: z.int().optional(),
      jitter: z.number().optional(),
      on: names.optional(),
      not_on: names.optional(),
    })
    .optional(),
  finish_within_sec: z.int().optional(),
  labels: z.array(z.string()).optional(),
  keep_sec: z.int().optional(),
  unique: z
    .looseObject({
      key: z.string(),
      until: known(uniqueUntils),
      window_sec: z.int().optional(),
      on_duplicate: known(onDuplicates).optional(),
      debounce_sec: z.int().optional(),
      max_wait_sec: z.int().optional(),
    })
    .optional(),
  lanes: z
    .array(
      z.looseObject({
        name: z.string(),
        max_running: z.int().optional(),
        rate: z.looseObject({ limit: z.int(), period_sec: z.int(), burst: z.int().optional() }).optional(),
      }),
    )
    .optional(),
};

type TermFields = z.infer<z.ZodObject<typeof termFields>>;

type Problem = { path: string; message: string };

export function termProblems({ retry, unique, lanes }: TermFields): Problem[] {
  return [
    ...retryProblems(retry),
    ...uniqueProblems(unique),
    ...(lanes ?? []).flatMap((_, index) => laneProblems(lanes!, index)),
  ];
}

function uniqueProblems(unique: TermFields["unique"]): Problem[] {
  if (unique === undefined) return [];
  const { until, window_sec, on_duplicate, debounce_sec, max_wait_sec } = unique;
  const isPostponing = on_duplicate === "postpone";
  const problems = [
    until === "window" && window_sec === undefined && ["window_sec", "is required with until window"],
    until !== "window" && window_sec !== undefined && ["window_sec", "belongs to until window only"],
    isPostponing && debounce_sec === undefined && ["debounce_sec", "is required with on_duplicate postpone"],
    !isPostponing && debounce_sec !== undefined && ["debounce_sec", "belongs to on_duplicate postpone only"],
    !isPostponing && max_wait_sec !== undefined && ["max_wait_sec", "belongs to on_duplicate postpone only"],
    max_wait_sec !== undefined &&
      max_wait_sec < (debounce_sec ?? 0) && ["max_wait_sec", "must not be less than debounce_sec"],
  ];
  return problems
    .filter((problem) => problem !== false)
    .map(([path, message]) => ({ path: `unique.${path}`, message: message! }));
}

function laneProblems(lanes: NonNullable<TermFields["lanes"]>, index: number): Problem[] {
  const { name, max_running, rate } = lanes[index]!;
  const path = `lanes[${index}]`;
  if (max_running === undefined && rate === undefined)
    return [{ path, message: "give max_running, rate, or both" }];
  if (rate?.burst !== undefined && rate.burst > rate.limit)
    return [{ path: `${path}.rate.burst`, message: "must not be above rate.limit" }];
  if (lanes.findIndex((other) => other.name === name) < index)
    return [{ path: `${path}.name`, message: `${name} is named twice` }];
  return [];
}

function retryProblems(retry: TermFields["retry"]): Problem[] {
  if (retry === undefined) return [];
  if (retry.on !== undefined && retry.not_on !== undefined)
    return [{ path: "retry.not_on", message: "give retry.on or retry.not_on, not both" }];
  const path = retry.on === undefined ? "retry.not_on" : "retry.on";
  const other = (retry.on ?? retry.not_on)?.find((name) => isOfWrit(name));
  if (other === undefined) return [];
  const allowed = "only TIMEOUT, EXECUTION_ERROR, their details, your own codes and exit codes can be named";
  return [{ path, message: `${other} is not for the job to decide; ${allowed}` }];
}

/** Failures that are never tried again, or for which a policy is not asked. */
function isOfWrit(name: string | number): boolean {
  const classes: Readonly<Record<string, unknown>> = failureClasses;
  const details: Readonly<Record<string, keyof typeof failureClasses>> = failureDetails;
  if (typeof name === "number") return false;
  const code = Object.hasOwn(classes, name) ? name : Object.hasOwn(details, name) ? details[name] : undefined;
  return code !== undefined && !isDecidedByPolicy(code as keyof typeof failureClasses);
}
