import { randomUUID } from "node:crypto";
import { wireStates, wireStreams } from "../../contract/job-wire.ts";
import { WritError } from "../../core/errors.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import {
  type CallOptions,
  type Jobs,
  listAll,
  type PageOptions,
  type RpcListFilter,
  type RpcListPage,
  type StartInput,
  stopMsMax,
} from "../jobs/jobs.ts";
import {
  type AttemptChunk,
  type OutputPosition,
  type StreamAttemptsOptions,
  streamAttempts,
} from "../output/stream-attempts.ts";
import type { RpcOptions } from "./find-rpc.ts";
import { readStatus } from "./read-status.ts";
import { RpcConnection, type RpcDeps } from "./rpc-connection.ts";

// Longer than any commit takes on a slow disk, short enough that a caller learns of a dead hub.
const callMsMax = 30_000;
// What we ask for: the largest that a hub sends, because each chunk costs the same few microseconds.
const chunkBytesMax = 1024 * 1024;

/** Commands as jobs of a hub, over gRPC with a client certificate. */
export class JobsOverGrpc implements Jobs {
  readonly #rpc: RpcConnection;
  readonly #traceHeaders: Record<string, string>;

  constructor(options: RpcOptions, deps?: RpcDeps) {
    this.#rpc = new RpcConnection(options, deps);
    this.#traceHeaders = options.traceparent === undefined ? {} : { traceparent: options.traceparent };
  }

  async start(input: StartInput, { signal }: CallOptions = {}): Promise<string> {
    const { command, limits, env, cwd, stdin, timeoutSec, tags, session, idempotencyKey, maxAttempts } =
      input;
    if (input.stdinFrom !== undefined || input.inputs !== undefined || input.collect !== undefined)
      throw new WritError("INVALID_ARGUMENT", "files are possible over HTTP only; use JobsOverHttp");
    const request = {
      command: [...command],
      limits,
      env,
      cwd,
      stdin,
      timeoutSec,
      requires:
        tags === undefined && session === undefined ? undefined : { tags: [...(tags ?? [])], session },
      // Sent again after a lost answer, it must be the same job.
      idempotencyKey: idempotencyKey ?? randomUUID(),
      maxAttempts,
    };
    const options = { signal, timeoutMs: callMsMax, headers: this.#traceHeaders };
    return (await this.#rpc.call((client) => client.startJob(request, options), signal)).jobId;
  }

  async stop(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    const options = { signal, timeoutMs: stopMsMax };
    const { status } = await this.#rpc.call((client) => client.stopJob({ jobId }, options), signal);
    return status === undefined ? this.status(jobId, { signal }) : readStatus(status);
  }

  async status(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    const options = { signal, timeoutMs: callMsMax };
    return readStatus(await this.#rpc.call((client) => client.getStatus({ jobId }, options), signal));
  }

  stream(jobId: string, options: StreamAttemptsOptions = {}): AsyncGenerator<AttemptChunk> {
    const { clock, random } = this.#rpc;
    const status = (signal: AbortSignal) => this.status(jobId, { signal });
    const read = (position: OutputPosition, signal: AbortSignal) => this.#read(jobId, position, signal);
    return streamAttempts({ clock, random, status, read }, options);
  }

  list(filter: RpcListFilter = {}, options?: CallOptions & { pageSize?: number }): AsyncGenerator<JobStatus> {
    return listAll((page) => this.listPage(filter, page), options);
  }

  async listPage(
    { state, since, until, ...filter }: RpcListFilter = {},
    { pageSize, pageToken, count, signal }: PageOptions = {},
  ): Promise<RpcListPage> {
    const request = {
      ...filter,
      state: wireStates[state ?? "UNKNOWN"],
      since: BigInt(since ?? 0),
      until: BigInt(until ?? 0),
      pageSize,
      pageToken,
      count,
    };
    const options = { signal, timeoutMs: callMsMax };
    const { jobs, nextPageToken, total, totalIsMore } = await this.#rpc.call(
      (client) => client.listJobs(request, options),
      signal,
    );
    return {
      jobs: jobs.map(readStatus),
      nextPageToken: nextPageToken || undefined,
      total: total === undefined ? undefined : { count: total, isMore: totalIsMore },
    };
  }

  async findIds(part: string): Promise<string[]> {
    return (await this.listPage({ id: part }, { pageSize: 100 })).jobs.map(({ job_id }) => job_id);
  }

  close(): void {
    this.#rpc.close();
  }

  async *#read(jobId: string, { stream, offset, attempt }: OutputPosition, signal: AbortSignal) {
    const from = { stream: wireStreams[stream], offset: BigInt(offset), attempt };
    const request = { jobId, ...from, maxChunkBytes: chunkBytesMax };
    const chunks = this.#rpc.stream((client) => client.streamOutput(request, { signal }), signal);
    for await (const chunk of chunks) yield { data: chunk.data, offset: Number(chunk.offset) };
  }
}
