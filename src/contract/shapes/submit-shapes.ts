import { z } from "zod";
import { downloadUrlProblem } from "../../core/download-url.ts";
import { documentDefaults } from "../../core/jobs/document.ts";
import { jobStates } from "../../core/jobs/job.ts";
import { type KindRules, kindFields } from "../define-kind.ts";
import { jobDocument } from "../document.ts";
import { kindNames, prompt, type RunKind, rulesOf, timeoutSecMax } from "../kinds.ts";
import { integer, jobId, sha256Text, text, timeMs } from "./fields.ts";
import { termFields, termProblems } from "./term-shapes.ts";

/** Required in a document, optional in a submission: the hub fills in the defaults. */
const filledIn = {
  job_id: true,
  type: true,
  execution_location: true,
  run: true,
  timeout_sec: true,
  idempotency_key: true,
  max_attempts: true,
} as const;

const priorityAllowed = "must be a whole number from 1 to 10, or 0 for the default";
/** 0 is what many programs send for a number that is not set: the same request as none, so nothing of it is hashed. */
const priorityOrDefault = z
  .int(priorityAllowed)
  .min(0, priorityAllowed)
  .max(10, priorityAllowed)
  .transform((given) => (given === 0 ? undefined : given));

/** A year: whatever is to run later has a date. */
const delayMsMax = 366 * 86_400_000;

/** What a producer sends: a document without the fields that only the hub decides, and with a few alternative spellings. */
export const submissionFields = jobDocument
  .omit({ tenant_id: true, user_id: true, created_at_ts: true, status: true })
  .partial(filledIn)
  .extend({
    priority: priorityOrDefault.optional(),
    max_runtime_ms: integer(1, timeoutSecMax * 1000, "milliseconds").optional(),
    solver_url: text(1, 4096).optional(),
    solver_checksum: sha256Text.optional(),
    run_at: timeMs.optional(),
    delay_ms: integer(0, delayMsMax, "milliseconds").optional().meta({
      description: "Do not start before this long after the job was accepted; instead of run_at",
    }),
    ...termFields,
  });
type SubmissionFields = z.infer<typeof submissionFields>;

export const jobSubmission = submissionFields.superRefine((job, context) => {
  for (const { path, message } of contradictions(job))
    context.addIssue({ code: "custom", path: [path], message });
});
export type JobSubmission = z.infer<typeof jobSubmission>;

export const batchJobsMax = 1000;
export const jobBatch = z.strictObject({ jobs: z.array(jobSubmission).min(1).max(batchJobsMax) });

export const accepted = z.object({ id: jobId, status: z.enum(jobStates) });

/** What becomes of a submitted job. */
export const submitted = accepted.extend({
  duplicate: z.literal(true).optional().meta({
    description: "Another job has the unique key and stands for this one, which does not exist",
  }),
});

type Described = Pick<SubmissionFields, "type" | "run" | "solver_url" | "provider" | "model">;

/** The runner that a submission is for: by its `run`, else a solver or a model if it names one, else a handler. */
export function kindOf(job: Described): RunKind {
  if (job.run !== undefined) return job.run.kind;
  if (isPrompt(job)) return "delegate";
  return job.solver_url === undefined ? "handler" : "solver";
}

/** A model and a prompt are enough for a coding agent. */
function isPrompt({ type, run, provider, model }: Described): boolean {
  return type === undefined && run === undefined && provider !== undefined && model !== undefined;
}

/** What such a submission means. */
export const promptJob = { type: "delegate", agent: "default", field: "metadata.input" } as const;

type Problem = { path: string; message: string };

/** Rules that concern several fields: fields that exclude, require or limit one another. */
export function contradictions(job: SubmissionFields): Problem[] {
  return [
    ...typeProblems(job),
    ...timeProblems(job),
    ...runProblems(job),
    ...kindProblems(job),
    ...storageProblems(job),
    ...fileProblems(job),
    ...networkProblems(job),
    ...termProblems(job),
  ];
}

function typeProblems(job: SubmissionFields): Problem[] {
  if (!isPrompt(job)) return job.type === undefined ? [{ path: "type", message: "is required" }] : [];
  const isText = prompt.safeParse(job.metadata?.["input"]).success;
  return isText
    ? []
    : [{ path: promptJob.field, message: "must be the prompt, a text of 1 to 524288 characters" }];
}

function timeProblems(job: SubmissionFields): Problem[] {
  if (job.timeout_sec !== undefined && job.max_runtime_ms !== undefined) {
    return [{ path: "max_runtime_ms", message: "give timeout_sec or max_runtime_ms, not both" }];
  }
  if (job.run_at !== undefined && job.delay_ms !== undefined) {
    return [{ path: "delay_ms", message: "give run_at or delay_ms, not both" }];
  }
  const rules = rulesOf(kindOf(job));
  const isAllowed = (sec: number): boolean => sec <= rules.timeoutSecMax && (sec > 0 || rules.canRunForever);
  if (!isAllowed(job.timeout_sec ?? 1)) return [{ path: "timeout_sec", message: timeAllowed(rules) }];
  if (isAllowed((job.max_runtime_ms ?? 1000) / 1000)) return [];
  return [{ path: "max_runtime_ms", message: timeAllowed(rules) }];
}

function timeAllowed({ timeoutSecMax: max, canRunForever }: KindRules): string {
  const longer = kindNames.filter((kind) => rulesOf(kind).timeoutSecMax > max);
  const hint =
    longer.length === 0 ? "" : `; only ${longer.join(" and ")} jobs may run longer or without a limit`;
  return `must be from ${canRunForever ? 0 : 1} to ${max} s${hint}`;
}

function runProblems(job: SubmissionFields): Problem[] {
  const problems: Problem[] = [];
  if (job.run !== undefined && job.solver_url !== undefined) {
    problems.push({ path: "solver_url", message: "give run or solver_url, not both" });
  }
  if (job.solver_url !== undefined && job.solver_checksum === undefined) {
    problems.push({ path: "solver_checksum", message: "is required with solver_url" });
  }
  if (job.solver_url === undefined && job.solver_checksum !== undefined) {
    problems.push({ path: "solver_checksum", message: "needs a solver_url" });
  }
  if (job.run?.kind === "solver") problems.push(...urlProblems("run.url", job.run.url));
  if (job.solver_url !== undefined) problems.push(...urlProblems("solver_url", job.solver_url));
  if (
    job.run !== undefined &&
    "params" in job.run &&
    job.run.params !== undefined &&
    job.params !== undefined
  ) {
    problems.push({ path: "params", message: "give params or run.params, not both" });
  }
  return problems;
}

/** What every worker would refuse is refused before there is a job. */
function urlProblems(path: string, url: string): Problem[] {
  const message = downloadUrlProblem(url);
  return message === null ? [] : [{ path, message }];
}

/** Some fields of a document belong only to some kinds. */
function kindProblems(job: SubmissionFields): Problem[] {
  const kind = kindOf(job);
  const { documentFields } = rulesOf(kind);
  const isLocal = (job.execution_location ?? documentDefaults.executionLocation) === "LOCAL_MACHINE";
  return kindFields.flatMap((path) => {
    const rule = documentFields[path];
    if (job[path] !== undefined) {
      return rule === undefined ? [{ path, message: `belongs to ${kindsWith(path)} jobs only` }] : [];
    }
    if (rule === "required") return [{ path, message: `is required for ${kind} jobs` }];
    return rule === "local" && isLocal
      ? [{ path, message: `is required for ${kind} jobs at LOCAL_MACHINE` }]
      : [];
  });
}

function kindsWith(field: (typeof kindFields)[number]): string {
  return kindNames.filter((kind) => rulesOf(kind).documentFields[field] !== undefined).join(" and ");
}

/** Without an output location there is no job token, so the policy would have no effect. */
function storageProblems(job: SubmissionFields): Problem[] {
  return job.storage_access_policy !== undefined && job.output_location === undefined
    ? [{ path: "storage_access_policy", message: "needs an output_location" }]
    : [];
}

/** The diff that an agent begins with is one of its files, and put into a copy. */
function applyProblems(
  apply: string,
  { inputs, mode }: { inputs?: readonly { path: string }[]; mode?: string },
): Problem[] {
  if (mode === "in-place")
    return [{ path: "run.apply", message: "is not possible in place; the diff is put into a copy" }];
  if (inputs?.some(({ path }) => path === apply)) return [];
  return [{ path: "run.apply", message: "must be the path of a file in run.inputs" }];
}

/** A container has its own directories, which the worker does not reach. */
function fileProblems({ run }: SubmissionFields): Problem[] {
  if (run === undefined) return [];
  if (run.kind === "delegate" && run.collect !== undefined)
    return [
      {
        path: "run.collect",
        message: "is not possible for delegate jobs; every file that the agent changes is kept",
      },
    ];
  if (run.kind === "delegate" && run.apply !== undefined) return applyProblems(run.apply, run);
  if (run.kind === "exec" && run.stdin !== undefined && run.stdin_from !== undefined)
    return [{ path: "run.stdin_from", message: "give run.stdin or run.stdin_from, not both" }];
  const isInContainer = "container" in run && run.container !== undefined;
  if (!isInContainer || (run.inputs === undefined && run.collect === undefined)) return [];
  const path = run.inputs === undefined ? "run.collect" : "run.inputs";
  return [
    { path, message: "is not possible with run.container; the job fetches and lists its files itself" },
  ];
}

/** A closed network is that of a process which the worker starts for this job alone. */
function networkProblems(job: SubmissionFields): Problem[] {
  const { limits, egress, run } = job;
  const isClosed = limits?.network === "closed";
  if (!isClosed)
    return egress === undefined
      ? []
      : [{ path: "limits.network", message: "must be closed for a job with egress" }];
  const kind = kindOf(job);
  const isInContainer = run !== undefined && "container" in run && run.container !== undefined;
  if (rulesOf(kind).mayCloseNetwork && !isInContainer) return [];
  const where = isInContainer ? "with run.container" : `for ${kind} jobs`;
  return [{ path: "limits.network", message: `closed is not possible ${where}; use host or none` }];
}
