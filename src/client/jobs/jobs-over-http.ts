import { statusOfView } from "../../contract/job-status.ts";
import { jobRoutes } from "../../contract/routes/job-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import type { FailureClass } from "../../core/jobs/failure.ts";
import type { JobState } from "../../core/jobs/job.ts";
import { isOver, type JobStatus } from "../../core/jobs/job-status.ts";
import { filterOfState } from "../../core/jobs/state-names.ts";
import { HubCaller } from "../hub/hub-caller.ts";
import type { WritOptions } from "../options.ts";
import { outputOverHttp } from "../output/output-over-http.ts";
import { type AttemptChunk, type StreamAttemptsOptions, streamAttempts } from "../output/stream-attempts.ts";
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
} from "./jobs.ts";
import { JobWaits } from "./wait-job.ts";

/** Commands as jobs of a hub, over HTTP with a token. */
export class JobsOverHttp implements Jobs {
  readonly #hub: HubCaller;
  readonly #waits: JobWaits;

  constructor(options: WritOptions) {
    this.#hub = new HubCaller(options);
    this.#waits = new JobWaits(this.#hub);
  }

  async start(input: StartInput, { signal }: CallOptions = {}): Promise<string> {
    const { limits, stdin, stdinFrom, inputs, collect } = input;
    const body = {
      ...startFields(input),
      limits: limits as { io?: "low" } | undefined,
      stdin: stdin === undefined || stdin.length === 0 ? undefined : Buffer.from(stdin).toString("base64"),
      stdin_from: stdinFrom,
      inputs: inputs && [...inputs],
      collect: collect && [...collect],
    };
    return (await this.#hub.call(jobRoutes.startCommand, { body }, { signal })).body.id;
  }

  async stop(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    const { status } = await this.#hub.call(jobRoutes.cancelJob, { params: { id: jobId } }, { signal });
    if (status === 202) {
      const isDone = (view: JobView): boolean => isOver(statusOfView(view));
      return statusOfView(await this.#waits.wait(jobId, { signal, timeoutMs: stopMsMax, isDone }));
    }
    return this.status(jobId, { signal });
  }

  async status(jobId: string, { signal }: CallOptions = {}): Promise<JobStatus> {
    return statusOfView((await this.#hub.call(jobRoutes.getJob, { params: { id: jobId } }, { signal })).body);
  }

  stream(jobId: string, options: StreamAttemptsOptions = {}): AsyncGenerator<AttemptChunk> {
    return streamAttempts(outputOverHttp(this.#hub, jobId), options);
  }

  list(filter: RpcListFilter = {}, options?: CallOptions & { pageSize?: number }): AsyncGenerator<JobStatus> {
    return listAll((page) => this.listPage(filter, page), options);
  }

  /** The hub filters by its own states; one of ours may be a part of several of them, so the rest is done here. */
  async listPage(
    filter: RpcListFilter = {},
    { pageSize, pageToken, count, signal }: PageOptions = {},
  ): Promise<RpcListPage> {
    const { state, type, worker, user, failCode, since, until, search } = filter;
    const { id, label, schedule } = filter;
    // The hub says what is wrong with a name that is not a state.
    const named = filter.status?.split(",") as JobState[] | undefined;
    const { statuses: status, failCode: ofState, isExact } = filterOfState(state, named);
    if (status?.length === 0) return { jobs: [], nextPageToken: undefined };
    const fail_code = ofState ?? (failCode as FailureClass | undefined);
    const byNames = { type, id, label, schedule, worker_id: worker, user_id: user };
    const which = { ...byNames, status, fail_code, since, until, q: search };
    const query = { ...which, limit: pageSize, cursor: pageToken, count };
    const { body, header } = await this.#hub.call(jobRoutes.listJobs, { query }, { signal });
    const jobs = body.map(statusOfView).filter((job) => state === undefined || job.state === state);
    const total = isExact ? totalOf(header("x-total-count")) : undefined;
    return { jobs, nextPageToken: header("x-next-cursor"), total };
  }

  async findIds(part: string): Promise<string[]> {
    return (await this.listPage({ id: part }, { pageSize: 100 })).jobs.map(({ job_id }) => job_id);
  }

  close(): void {
    this.#hub.close();
  }
}

/** A number; with a + behind it there may be more. */
function totalOf(text: string | undefined): RpcListPage["total"] {
  return text === undefined ? undefined : { count: Number.parseInt(text, 10), isMore: text.endsWith("+") };
}
