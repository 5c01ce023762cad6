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
  startFields,
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
import { RpcCaller, type RpcDeps } from "./rpc-caller.ts";

// Longer than any commit takes on a slow disk, short enough that a caller learns of a dead hub.
const callMsMax = 30_000;
// What we ask for: the largest that a hub sends, because each chunk costs the same few microseconds.
const chunkBytesMax = 1024 * 1024;

/** Commands as jobs of a hub, over gRPC with a client certificate. */
export class JobsOverGrpc implements Jobs {
  readonly #rpc: RpcCaller;
  readonly #traceHeaders: Record<string, string>;

  constructor(options: RpcOptions, deps?: RpcDeps) {
    this.#rpc = new RpcCaller(options, deps);
    this.#traceHeaders = options.traceparent === undefined ? {} : { traceparent: options.traceparent };
  }

  async start(input: StartInput, { signal }: CallOptions = {}): Promise<string> {
    if (input.stdinFrom !== undefined || input.inputs !== undefined || input.collect !== undefined)
      throw new WritError("INVALID_ARGUMENT", "files are possible over HTTP only; use JobsOverHttp");
    const request = { ...startFields(input), stdin: input.stdin };
    const options = { signal, timeoutMs: callMsMax, headers: this.#traceHeaders };
    return (await this.#rpc.call("startJob", request, options)).job_id;
  }

  async stop(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    const options = { signal, timeoutMs: stopMsMax };
    const { status } = await this.#rpc.call("stopJob", { job_id: jobId }, options);
    return status === undefined ? this.status(jobId, { signal }) : readStatus(status);
  }

  async status(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    const options = { signal, timeoutMs: callMsMax };
    return readStatus(await this.#rpc.call("getStatus", { job_id: jobId }, options));
  }

  stream(jobId: string, options: StreamAttemptsOptions = {}): AsyncGenerator<AttemptChunk> {
    const { clock, random, hasAnswered } = this.#rpc;
    const status = (signal: AbortSignal) => this.status(jobId, { signal });
    const read = (position: OutputPosition, signal: AbortSignal) => this.#read(jobId, position, signal);
    return streamAttempts({ clock, random, hasAnswered, status, read }, options);
  }

  list(filter: RpcListFilter = {}, options?: CallOptions & { pageSize?: number }): AsyncGenerator<JobStatus> {
    return listAll((page) => this.listPage(filter, page), options);
  }

  async listPage(
    { failCode, ...filter }: RpcListFilter = {},
    { pageSize, pageToken, count, signal }: PageOptions = {},
  ): Promise<RpcListPage> {
    const request = { ...filter, fail_code: failCode, page_size: pageSize, page_token: pageToken, count };
    const options = { signal, timeoutMs: callMsMax };
    const { jobs, next_page_token, total, total_is_more } = await this.#rpc.call(
      "listJobs",
      request,
      options,
    );
    return {
      jobs: jobs.map(readStatus),
      nextPageToken: next_page_token || undefined,
      total: total === undefined ? undefined : { count: total, isMore: total_is_more },
    };
  }

  async findIds(part: string): Promise<string[]> {
    return (await this.listPage({ id: part }, { pageSize: 100 })).jobs.map(({ job_id }) => job_id);
  }

  close(): void {
    this.#rpc.close();
  }

  async *#read(jobId: string, { stream, offset, attempt }: OutputPosition, signal: AbortSignal) {
    const from = { stream: stream === "stderr" ? ("STDERR" as const) : ("STDOUT" as const), offset, attempt };
    const request = { job_id: jobId, ...from, max_chunk_bytes: chunkBytesMax };
    yield* this.#rpc.stream("streamOutput", request, { signal });
  }
}
