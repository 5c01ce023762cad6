// What both transports can do with jobs. Why: ADR 0036.
import { randomUUID } from "node:crypto";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import type { GrpcState } from "../../core/jobs/state-names.ts";
import type { LimitsText } from "../../core/limits.ts";
import type { AttemptChunk, StreamAttemptsOptions } from "../output/stream-attempts.ts";
import type { JobInputFile, StoredFile } from "../shapes.ts";

export type StartInput = {
  command: readonly string[];
  /** What is left out, the hub sets. */
  limits?: { [K in keyof LimitsText]?: K extends "pids" ? number : string };
  /** What it may reach, with `network: "closed"` among the limits. */
  egress?: { allow: readonly string[]; inject?: readonly string[] | undefined } | undefined;
  env?: Record<string, string>;
  cwd?: string | undefined;
  /** What the command reads on its standard input; at most 64 KiB. */
  stdin?: Uint8Array | undefined;
  /** The same as a file in storage, of at most 8 MiB. Like all files, only over HTTP. */
  stdinFrom?: Omit<StoredFile, "size"> | undefined;
  /** Files that the command finds in `inputs/`. Only over HTTP. */
  inputs?: readonly JobInputFile[] | undefined;
  /** Patterns of the files to keep of its output directory. Only over HTTP. */
  collect?: readonly string[] | undefined;
  timeoutSec?: number | undefined;
  tags?: readonly string[] | undefined;
  session?: string | undefined;
  idempotencyKey?: string | undefined;
  maxAttempts?: number | undefined;
};

/** The fields of a start that both transports send alike. */
export function startFields({ command, limits, egress, env = {}, cwd, tags, session, ...input }: StartInput) {
  return {
    command: [...command],
    limits,
    egress: egress && { allow: [...egress.allow], inject: egress.inject && [...egress.inject] },
    env: Object.keys(env).length === 0 ? undefined : env,
    cwd,
    timeout_sec: input.timeoutSec,
    requires: tags === undefined && session === undefined ? undefined : { tags: tags && [...tags], session },
    // Sent again after a lost answer, it must be the same job.
    idempotency_key: input.idempotencyKey ?? randomUUID(),
    max_attempts: input.maxAttempts,
  };
}

export type RpcListFilter = {
  state?: GrpcState | undefined;
  /** With a `*` at its end, all types that begin so. */
  type?: string | undefined;
  worker?: string | undefined;
  user?: string | undefined;
  /** States of the HTTP API, such as `failed`; several with commas; `dead` is quarantined. */
  status?: string | undefined;
  failCode?: string | undefined;
  /** Created at this time or later, and before that time, in milliseconds since the epoch. */
  since?: number | undefined;
  until?: number | undefined;
  /** A part of the id, the type or a word of the command. */
  search?: string | undefined;
  /** The first 8 or more, or the last 6 or more, characters of an id. */
  id?: string | undefined;
  label?: string | undefined;
  /** The name of the schedule that made the job. */
  schedule?: string | undefined;
};
export type RpcListPage = {
  jobs: JobStatus[];
  nextPageToken: string | undefined;
  /** If it was asked for and can be counted; with `isMore`, counting has ended before all were found. */
  total?: { count: number; isMore: boolean } | undefined;
};
export type CallOptions = { signal?: AbortSignal | undefined };
export type PageOptions = CallOptions & {
  pageSize?: number;
  pageToken?: string | undefined;
  /** Also count all jobs that fit. */
  count?: boolean;
};

/** A stop waits until the processes are dead: the longest grace that a worker may have, and the round trip. */
export const stopMsMax = 600_000;

/**
 * What a person does with the jobs of a hub. JobsOverGrpc does it with a certificate, JobsOverHttp with a token; both
 * give the same answers. Every refusal is a WritError.
 */
export interface Jobs {
  /** Starts a command and gives the id of its job; it is durable once this resolves. */
  start(input: StartInput, options?: CallOptions): Promise<string>;
  /** Stops a job; its process tree is dead once this resolves. */
  stop(jobId: string, options?: CallOptions): Promise<JobStatus>;
  status(jobId: string, options?: CallOptions): Promise<JobStatus>;
  /** The bytes of a job's output, each once, also across broken connections and restarts of the hub. */
  stream(jobId: string, options?: StreamAttemptsOptions): AsyncGenerator<AttemptChunk>;
  /** All jobs that fit, newest first, read page by page as they are used. */
  list(filter?: RpcListFilter, options?: CallOptions & { pageSize?: number }): AsyncGenerator<JobStatus>;
  /** One page; it may be short without being the last. */
  listPage(filter?: RpcListFilter, options?: PageOptions): Promise<RpcListPage>;
  /** The ids that begin or end with this part, newest first; at most 100. */
  findIds(part: string): Promise<string[]>;
  /** Closes the connection; later calls are refused. */
  close(): void;
}

/** Reads page by page, as the jobs are used. */
export async function* listAll(
  readPage: (options: PageOptions) => Promise<RpcListPage>,
  { pageSize = 200, signal }: CallOptions & { pageSize?: number } = {},
): AsyncGenerator<JobStatus> {
  let pageToken: string | undefined;
  do {
    const page = await readPage({ pageSize, pageToken, signal });
    yield* page.jobs;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}
