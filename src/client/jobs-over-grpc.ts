import { wireStates } from "../contract/job-wire.ts";
import type { LimitsText } from "../core/limits.ts";
import type { RpcOptions } from "./find-rpc.ts";
import { RpcConnection, type RpcDeps } from "./rpc-connection.ts";
import { type RpcJob, type RpcState, rpcJob } from "./rpc-job.ts";
import { type AttemptChunk, type StreamAttemptsOptions, streamAttempts } from "./stream-attempts.ts";

export type StartInput = {
  command: readonly string[];
  /** The hub sets the default of what is left out. */
  limits?: { [K in keyof LimitsText]?: K extends "pids" ? number : string };
  env?: Record<string, string>;
  cwd?: string | undefined;
  timeoutSec?: number | undefined;
  tags?: readonly string[] | undefined;
  session?: string | undefined;
  idempotencyKey?: string | undefined;
  maxAttempts?: number | undefined;
};

export type RpcListFilter = {
  state?: RpcState | undefined;
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
};
export type RpcListPage = { jobs: RpcJob[]; nextPageToken: string | undefined };
type CallOptions = { signal?: AbortSignal | undefined };

// Longer than any commit takes on a slow disk, short enough that a caller learns of a dead hub.
const callMsMax = 30_000;
// A stop waits until the processes are dead: the longest grace that a worker may have, and the round trip.
const stopMsMax = 600_000;

/** Commands as jobs on a hub, over gRPC with a client certificate. Every refusal is a WritError. */
export class JobsOverGrpc {
  readonly #rpc: RpcConnection;

  constructor(options: RpcOptions, deps?: RpcDeps) {
    this.#rpc = new RpcConnection(options, deps);
  }

  /** Starts a command and returns the id of its job; it is durable once this resolves. */
  async start(input: StartInput, { signal }: CallOptions = {}): Promise<string> {
    const { command, limits, env, cwd, timeoutSec, tags, session, idempotencyKey, maxAttempts } = input;
    const request = {
      command: [...command],
      limits,
      env,
      cwd,
      timeoutSec,
      requires:
        tags === undefined && session === undefined ? undefined : { tags: [...(tags ?? [])], session },
      idempotencyKey,
      maxAttempts,
    };
    const options = { signal, timeoutMs: callMsMax };
    return (await this.#rpc.call((client) => client.startJob(request, options), signal)).jobId;
  }

  /** Stops a job; its process tree is dead once this resolves. */
  async stop(jobId: string, { signal }: CallOptions = {}): Promise<RpcJob> {
    const options = { signal, timeoutMs: stopMsMax };
    const { status } = await this.#rpc.call((client) => client.stopJob({ jobId }, options), signal);
    return status === undefined ? this.status(jobId, { signal }) : rpcJob(status);
  }

  async status(jobId: string, { signal }: CallOptions = {}): Promise<RpcJob> {
    const options = { signal, timeoutMs: callMsMax };
    return rpcJob(await this.#rpc.call((client) => client.getStatus({ jobId }, options), signal));
  }

  /** The bytes of a job's output, each once, even across broken connections and restarts of the hub. */
  stream(jobId: string, options: StreamAttemptsOptions = {}): AsyncGenerator<AttemptChunk> {
    return streamAttempts(
      { rpc: this.#rpc, status: (signal) => this.status(jobId, { signal }) },
      jobId,
      options,
    );
  }

  /** All matching jobs, newest first, read page by page as they are used. */
  async *list(
    filter: RpcListFilter = {},
    { pageSize = 200, signal }: CallOptions & { pageSize?: number } = {},
  ) {
    let pageToken: string | undefined;
    do {
      const page: RpcListPage = await this.listPage(filter, { pageSize, pageToken, signal });
      yield* page.jobs;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  async listPage(
    { state, since, until, ...filter }: RpcListFilter = {},
    { pageSize, pageToken, signal }: CallOptions & { pageSize?: number; pageToken?: string | undefined } = {},
  ): Promise<RpcListPage> {
    const request = {
      ...filter,
      state: wireStates[state ?? "UNKNOWN"],
      since: BigInt(since ?? 0),
      until: BigInt(until ?? 0),
      pageSize,
      pageToken,
    };
    const options = { signal, timeoutMs: callMsMax };
    const { jobs, nextPageToken } = await this.#rpc.call(
      (client) => client.listJobs(request, options),
      signal,
    );
    return { jobs: jobs.map(rpcJob), nextPageToken: nextPageToken || undefined };
  }

  /** The ids that begin or end with this part, newest first; at most 100. */
  async findIds(part: string): Promise<string[]> {
    return (await this.listPage({ id: part }, { pageSize: 100 })).jobs.map(({ job_id }) => job_id);
  }

  /** Closes the connection; later calls are refused. */
  close(): void {
    this.#rpc.close();
  }
}
