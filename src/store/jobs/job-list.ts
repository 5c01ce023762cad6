// What lists of jobs contain, and the bounds of one call. Why: ADR 0031.
import type { Identity } from "../../core/identity.ts";
import type { FailureClass, FailureDetail } from "../../core/jobs/failure.ts";
import {
  type JobRecord,
  type JobState,
  jobStates,
  type ListedState,
  type PendingPart,
} from "../../core/jobs/job.ts";
import type { DroppedSizes } from "../output-store.ts";
import type { DamagedPart } from "./find-damage.ts";

/** What lists are made of. What they leave out is null; of a long history of failures, the last one is left. */
export type ListedJob = {
  job: JobRecord;
  /** Fields of the record that are too large for a list. */
  cut: CutField[];
  /** One of these: the summary that was stored with a large document, or the document itself. */
  summary: string | null;
  document: string | null;
  /** The noted sizes of its outputs, and up to which attempt they were removed. */
  output: DroppedSizes;
  /** What of it cannot be read. Seals and hashes are not checked. */
  damaged: DamagedPart[];
};

/** In a list, the largest size of these fields in bytes. */
export const listedBytesMax = {
  result: 512,
  partialResult: 512,
  failHistory: 512,
  outputFiles: 512,
  isolation: 4096,
} as const satisfies Partial<Record<keyof JobRecord, number>>;
export type CutField = keyof typeof listedBytesMax;
export const cutFields = Object.keys(listedBytesMax) as CutField[];

export type JobPage = {
  jobs: ListedJob[];
  /** Instead of `jobs`, if they were asked for as somebody sees them and the driver can write them so. */
  shown?: ShownJobs;
  nextBefore: number | null;
  /** The jobs are as they were after this event, and before the next. */
  lastEventSeq: number;
};

/**
 * Jobs as somebody sees them, in order: the JSON of one or several, with commas between them, or a job itself if more than
 * the database is needed to show it.
 */
export type ShownJobs = (string | ListedJob)[];

/** Writes jobs as this caller sees them, where they are read. */
export type ShowJobs = (jobs: readonly ListedJob[], caller: Identity) => ShownJobs;

export type JobFilter = {
  /** The page is wanted as this caller sees it. */
  shownTo?: Identity | undefined;
  tenantId?: string | undefined;
  userId?: string | undefined;
  /** Any of these. */
  statuses?: readonly JobState[] | undefined;
  /** Of the pending jobs only these: scheduled ones have never been claimed, and their time has not come. */
  pendingPart?: PendingPart | undefined;
  type?: string | undefined;
  typePrefix?: string | undefined;
  workerId?: string | undefined;
  /** Also the detail of a code. With a ! before it, jobs that have not failed with this code. */
  failCode?: FailureClass | FailureDetail | `!${FailureClass}` | undefined;
  /** One of the job's own. */
  label?: string | undefined;
  /** The name of the schedule that made it. */
  schedule?: string | undefined;
  /** Created at this time or later. */
  since?: number | undefined;
  /** Created before this time. */
  until?: number | undefined;
  /** A part of the id, the type or a word of the command, in any case. */
  search?: string | undefined;
  /** The beginning of an id, of at least 8 characters, or its end, of at least 6. */
  idPart?: string | undefined;
  /** Only these jobs. */
  ids?: readonly string[] | undefined;
  before?: number | undefined;
  offset?: number | undefined;
  limit: number;
};

/** The states that a filter names, with the part of the pending ones instead of `pending`; undefined for all. */
export function listedStates({
  statuses,
  pendingPart,
}: Pick<JobFilter, "statuses" | "pendingPart">): ListedState[] | undefined {
  if (statuses === undefined && pendingPart === undefined) return undefined;
  const parts: PendingPart[] = pendingPart === undefined ? ["waiting", "scheduled"] : [pendingPart];
  return (statuses ?? jobStates).flatMap<ListedState>((state) => (state === "pending" ? parts : [state]));
}

/** Ids begin with the time, so that many have the same first characters. */
export const idStartCharsMin = 8;
export const idEndCharsMin = 6;

export type JobIdPage = Pick<JobPage, "nextBefore"> & { ids: string[] };

/** A filter that no index serves looks at no more jobs than this in one call, so that it never takes long. */
export const lookedJobsMax = 10_000;
/** A count ends here: a longer number is of no use to a reader. */
export const countedJobsMax = 10_000;
/** What one page reads at most: below the 4 MiB that a gRPC client accepts by default. */
export const pageBytesMax = 2 * 1024 ** 2;

/** Counting stops here, because the exact length of a longer queue is of no use. */
export const aheadMax = 100_000;

/** Clocks are set, so that a job may be some time older or newer than its neighbours. */
export const clockSlackMs = 3_600_000;

/** A document that is larger and has no summary is not read for a search. */
export const searchedBytesMax = 4096;
