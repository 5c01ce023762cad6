import type { z } from "zod";
import type { bulkAnswer } from "../contract/list-query.ts";
import type {
  queueView,
  quota,
  shownSetting,
  tenantQuota,
  tokenAnswer,
  tokenRequest,
} from "../contract/shapes/admin-shapes.ts";
import type { inputs } from "../contract/shapes/file-shapes.ts";
import type { artifactList } from "../contract/shapes/storage-shapes.ts";
import type { jobSubmission } from "../contract/shapes/submit-shapes.ts";
import type { identityView, keyView, tokenView } from "../contract/shapes/trust-view-shapes.ts";
import type { LiveEvent } from "../contract/shapes/view-shapes.ts";
import type { EventKind, eventTable, Severity } from "../core/events.ts";
import type { FailureClass } from "../core/jobs/failure.ts";
import type { JobState } from "../core/jobs/job.ts";
import type { OutputFile } from "../core/jobs/output-file.ts";
import type { StartTime } from "./jobs/job-times.ts";
import type { CamelKeys } from "./wire-names.ts";

export type { HealthView as Health } from "../contract/routes/probe-routes.ts";
export type {
  AuditView as AuditRecord,
  LockdownView as LockdownState,
} from "../contract/shapes/audit-shapes.ts";
export type {
  EventView as TimelineEvent,
  JobSummary,
  JobView as Job,
} from "../contract/shapes/view-shapes.ts";
export type { WorkerView as Worker } from "../contract/shapes/worker-view.ts";
export type { WhyView as Why } from "../contract/why-view.ts";
export type { JobState } from "../core/jobs/job.ts";
export type { OutputStream } from "../core/jobs/output-stream.ts";
export type { Moment } from "./jobs/job-times.ts";

/** A job as the hub reads it. */
export type WireJob = z.input<typeof jobSubmission>;
/** A job as a producer describes it, with the fields of `POST /jobs`. */
export type JobInput = Omit<WireJob, "run_at" | "delay_ms"> & StartTime;
/** The same for a job whose type and params are given by its definition, with names like all other options. */
export type SubmitOptions = CamelKeys<
  Omit<JobInput, "type" | "params" | "run" | "solver_url" | "solver_checksum">
>;
/** A file in storage. */
export type StoredFile = OutputFile;
/** One of `run.inputs`. */
export type JobInputFile = z.input<typeof inputs>[number];
/** A file that a job has left; `path` is its key without the prefix of the job's output location. */
export type Artifact = z.infer<typeof artifactList>["files"][number];
/** `duplicate`: another job has the unique key, and stands for the one that was submitted. */
export type Accepted = { id: string; status: JobState; duplicate?: true | undefined };

export type TokenInput = CamelKeys<z.input<typeof tokenRequest>>;
export type NewToken = z.infer<typeof tokenAnswer>;
export type Token = z.infer<typeof tokenView>;
export type Identity = z.infer<typeof identityView>;
export type SigningKey = z.infer<typeof keyView>;

export type Queue = z.infer<typeof queueView>;
export type Quota = z.infer<typeof quota>;
export type TenantQuota = z.infer<typeof tenantQuota>;

export type BulkOutcome = z.infer<typeof bulkAnswer>;

export type AuditFilter = {
  event?: EventKind;
  userId?: string;
  tenantId?: string;
  jobId?: string;
  severity?: Severity;
  since?: number;
  until?: number;
};

export type ListFilter = {
  /** One state, or any of several. */
  status?: JobState | readonly JobState[];
  /** With a `*` at its end, all types that begin so. */
  type?: string;
  workerId?: string;
  userId?: string;
  /** With a `!` before it, jobs that have not failed so. */
  failCode?: FailureClass | `!${FailureClass}`;
  label?: string;
  /** The name of the schedule that made the job. */
  schedule?: string;
  /** Created at this time or later, and before that time, in milliseconds since the epoch. */
  since?: number;
  until?: number;
  /** A part of the id, the type or a word of the command. */
  search?: string;
  /** The first 8 or more, or the last 6 or more, characters of an id. */
  id?: string;
};

/** The names of live events: `job:created`, `job:running` and so on. */
export type JobEventName = `job:${NonNullable<(typeof eventTable)[EventKind]["live"]>}`;

/** What every live event has. `event_id` is its place in the stream, for `lastEventId`. */
type StreamEvent<Name> = { event: Name; event_id: string | undefined };

/**
 * One live event of a job, whose id is `id`. `reset` means that events may be missing before it, because the hub no longer
 * has them: a program that keeps a copy of the jobs has to read them again.
 */
export type JobEvent =
  | StreamEvent<"reset">
  | (StreamEvent<"job:progress"> & LiveEvent & { progress: number })
  | (StreamEvent<Exclude<JobEventName, "job:progress">> & LiveEvent);

/** A setting of the hub; the value of a secret is null. */
export type { HubsView as Hubs } from "../contract/shapes/admin-shapes.ts";
export type ShownSetting = z.infer<typeof shownSetting>;
