import { checkValue, type JobDefinition } from "../contract/define-job.ts";
import { adminRoutes } from "../contract/routes/admin-routes.ts";
import { jobRoutes } from "../contract/routes/job-routes.ts";
import { laneRoutes } from "../contract/routes/lane-routes.ts";
import type { LaneView as Lane } from "../contract/shapes/lane-shapes.ts";
import type { ReceiptView } from "../contract/shapes/trust-view-shapes.ts";
import { checkOptions, type OptionNames } from "../runtime/check-options.ts";
import { Files } from "./files/files.ts";
import { Fleet } from "./fleet.ts";
import { Hooks } from "./hooks.ts";
import { HubCaller } from "./hub/hub-caller.ts";
import { HubClient } from "./hub/hub-client.ts";
import { type FollowEventsOptions, followEvents } from "./jobs/follow-events.ts";
import { JobFailure } from "./jobs/job-failure.ts";
import {
  type ChangeJobsOptions,
  changeJobs,
  type ListPage,
  listJobsPage,
  type PageOptions,
} from "./jobs/job-list.ts";
import { type JobOutcome, type JobRef, outcomes, waitAll } from "./jobs/job-outcomes.ts";
import { resultOf } from "./jobs/job-result.ts";
import { readTimeline } from "./jobs/read-timeline.ts";
import { SubmitQueue, submitBatch } from "./jobs/submit-queue.ts";
import { JobWaits, type WaitOptions, waitOptions } from "./jobs/wait-job.ts";
import { optionsFromEnvironment, type WritOptions, writOptions } from "./options.ts";
import { type StreamOutputOptions, streamOutput, streamOutputOptions } from "./output/stream-output.ts";
import { Schedules } from "./schedules.ts";
import type {
  Accepted,
  BulkOutcome,
  Job,
  JobEvent,
  JobInput,
  JobSummary,
  ListFilter,
  SubmitOptions,
  TimelineEvent,
  Why,
  Worker,
} from "./shapes.ts";
import { checkRunOptions, checkSubmitOptions, type RunOptions } from "./submit-options.ts";
import { Webhooks } from "./webhooks.ts";
import { wireNames } from "./wire-names.ts";

export type EventsOptions = Omit<FollowEventsOptions, "onOpen" | "onLost">;

const eventsOptions: OptionNames<EventsOptions> = { lastEventId: true, jobId: true, signal: true };

/** A client of a hub: its jobs, and by `HubClient` the hub itself. Every refusal is a WritError with the hub's code. */
export class Writ extends HubClient {
  readonly #hub: HubCaller;
  readonly #queue: SubmitQueue;
  readonly #waits: JobWaits;
  /** The acts of an operator. */
  readonly fleet: Fleet;
  /** Files that jobs read, and files that they leave. */
  readonly files: Files;
  readonly schedules: Schedules;
  readonly webhooks: Webhooks;
  readonly hooks: Hooks;

  constructor(options: WritOptions) {
    checkOptions("Writ", options, writOptions);
    const hub = new HubCaller(options);
    super(hub);
    this.#hub = hub;
    this.fleet = new Fleet(this.#hub);
    this.files = new Files(this.#hub);
    this.schedules = new Schedules(this.#hub);
    this.webhooks = new Webhooks(this.#hub);
    this.hooks = new Hooks(this.#hub);
    this.#queue = new SubmitQueue(this.#hub);
    this.#waits = new JobWaits(this.#hub);
  }

  /** A client of the hub that runs in this home, as its administrator. */
  static fromHome(home: string): Writ {
    return new Writ({ home });
  }

  /** A client from WRIT_HUB_URL, WRIT_TOKEN and WRIT_HOME; by default of the hub in the default home. */
  static fromEnvironment(env: Readonly<Record<string, string | undefined>>): Writ {
    return new Writ(optionsFromEnvironment(env));
  }

  /** Submits a job; it is durable once this resolves. Calls made together are sent together. */
  submit(job: JobInput): Promise<Accepted>;
  submit<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    params: NoInfer<In>,
    options?: SubmitOptions,
  ): Promise<Accepted>;
  submit(
    job: JobInput | JobDefinition<unknown, unknown>,
    ...rest: [unknown?, SubmitOptions?]
  ): Promise<Accepted> {
    return rest.length === 0
      ? this.#queue.submit(job as JobInput)
      : this.#submitDefined(job as JobDefinition<unknown, unknown>, ...rest);
  }

  /**
   * Submits a job, waits for its end and gives its result. A job that ends without one is thrown as a JobFailure, a wait
   * that takes too long as TIMED_OUT; the job continues then.
   */
  async run<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    params: NoInfer<In>,
    options: RunOptions = {},
  ): Promise<Out> {
    checkRunOptions(options);
    const { submit, ...wait } = options;
    const { id, status } = await this.submit(job, params, submit);
    const ended = await this.#waits.wait(id, { ...wait, isNew: status === "pending" });
    if (ended.status !== "completed") throw new JobFailure(ended);
    return checkValue(job.result, resultOf(ended), "result");
  }

  /** Submits up to 1000 jobs, or a job of one definition for each of the params: all are accepted, or none. */
  submitBatch(jobs: readonly JobInput[]): Promise<Accepted[]>;
  submitBatch<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    params: readonly NoInfer<In>[],
    options?: SubmitOptions,
  ): Promise<Accepted[]>;
  async submitBatch(
    jobs: readonly JobInput[] | JobDefinition<unknown, unknown>,
    params: readonly unknown[] = [],
    options: SubmitOptions = {},
  ): Promise<Accepted[]> {
    if (isList(jobs)) return await submitBatch(this.#hub, jobs);
    checkSubmitOptions(options);
    return submitBatch(this.#hub, await Promise.all(params.map((each) => describe(jobs, each, options))));
  }

  async get(id: string): Promise<Job> {
    return (await this.#hub.call(jobRoutes.getJob, { params: { id } })).body;
  }

  /**
   * All matching jobs, newest first, read page by page as they are used. Large fields are null and named in `cut`; `get`
   * reads a whole job.
   */
  async *list(filter: ListFilter = {}, options: { pageSize?: number } = {}): AsyncGenerator<JobSummary> {
    checkOptions("list", options, { pageSize: true });
    const { pageSize = 200 } = options;
    let cursor: string | undefined;
    do {
      const page = await this.listPage(filter, { limit: pageSize, cursor });
      yield* page.jobs;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  listPage(filter: ListFilter = {}, page: PageOptions = {}): Promise<ListPage> {
    return listJobsPage(this.#hub, filter, page);
  }

  /**
   * Cancels or retries up to 10,000 jobs, by their ids or by a filter; with `dryRun` it only counts them. One that is
   * refused stops no other. A filter retries what failed, and what was cancelled only if its `failCode` says so.
   */
  changeJobs(act: "cancel" | "retry", which: ChangeJobsOptions): Promise<BulkOutcome> {
    return changeJobs(this.#hub, act, which);
  }

  /** The ids that begin or end with this part, newest first; at most 100. */
  async findIds(part: string): Promise<string[]> {
    return (await this.listPage({ id: part }, { limit: 100 })).jobs.map(({ id }) => id);
  }

  /** `over`: it will not run. `asked`: its worker was asked to stop it. */
  async cancel(id: string): Promise<"over" | "asked"> {
    const { status } = await this.#hub.call(jobRoutes.cancelJob, { params: { id } });
    return status === 202 ? "asked" : "over";
  }

  async retry(id: string): Promise<Accepted> {
    return (await this.#hub.call(jobRoutes.retryJob, { params: { id } })).body;
  }

  /** The lanes that jobs name now, with what fills them, by tenant and name, read page by page. */
  async *lanes(): AsyncGenerator<Lane> {
    let cursor: string | undefined;
    do {
      const { body, header } = await this.#hub.call(laneRoutes.listLanes, { query: { cursor } });
      yield* body;
      cursor = header("x-next-cursor");
    } while (cursor !== undefined);
  }

  /** No worker is given a held job until it is resumed. Only a pending job can be held. */
  async hold(id: string): Promise<Accepted> {
    return (await this.#hub.call(jobRoutes.holdJob, { params: { id } })).body;
  }

  async resume(id: string): Promise<Accepted> {
    return (await this.#hub.call(jobRoutes.resumeJob, { params: { id } })).body;
  }

  /** The result of a completed job, typed by its definition. For any other job it is refused with STATE_CONFLICT. */
  result(id: string): Promise<unknown>;
  result<In, Out, Params, Returned>(job: JobDefinition<In, Out, Params, Returned>, id: string): Promise<Out>;
  async result(job: string | JobDefinition<unknown, unknown>, id?: string): Promise<unknown> {
    if (typeof job === "string") return resultOf(await this.get(job));
    return checkValue(job.result, resultOf(await this.get(id!)), "result");
  }

  /** Resolves with the job once it has ended, successfully or not. */
  async wait(id: string, options: WaitOptions = {}): Promise<Job> {
    checkOptions("wait", options, waitOptions);
    return await this.#waits.wait(id, options);
  }

  /** Resolves with all jobs, in this order, once the last has ended. Jobs are ids, or what `submit` has answered. */
  async waitAll(jobs: readonly JobRef[], options: WaitOptions = {}): Promise<Job[]> {
    checkOptions("waitAll", options, waitOptions);
    return await waitAll(this.#waits, jobs, options);
  }

  /** The outcome of each job as soon as it has ended, with its result typed by the definition if there is one. */
  results(jobs: readonly JobRef[], options?: WaitOptions): AsyncGenerator<JobOutcome<unknown>>;
  results<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    jobs: readonly JobRef[],
    options?: WaitOptions,
  ): AsyncGenerator<JobOutcome<Out>>;
  results(
    ...given:
      | [readonly JobRef[], WaitOptions?]
      | [JobDefinition<unknown, unknown>, readonly JobRef[], WaitOptions?]
  ): AsyncGenerator<JobOutcome<unknown>> {
    const [first, second, third] = given;
    const options = { ...(isList(first) ? (second as WaitOptions | undefined) : third) };
    checkOptions("results", options, waitOptions);
    if (isList(first)) return outcomes(this.#waits, first, options);
    return outcomes(this.#waits, second as readonly JobRef[], { ...options, definition: first });
  }

  /** The live events of jobs, until the signal or the reader ends it. */
  events(options: EventsOptions = {}): AsyncGenerator<JobEvent> {
    checkOptions("events", options, eventsOptions);
    return followEvents(this.#hub, options);
  }

  /** The events of a job, oldest first. */
  timeline(id: string): AsyncGenerator<TimelineEvent> {
    return readTimeline(this.#hub, id);
  }

  /** The bytes of an attempt's output, each once, even across broken connections. */
  streamOutput(id: string, options: StreamOutputOptions = {}): AsyncGenerator<Buffer> {
    checkOptions("streamOutput", options, streamOutputOptions);
    return streamOutput(this.#hub, id, options);
  }

  /** Explains why the job is in its current state. */
  async why(id: string, options: { signal?: AbortSignal | undefined } = {}): Promise<Why> {
    checkOptions("why", options, { signal: true });
    return (await this.#hub.call(jobRoutes.explainJob, { params: { id } }, options)).body;
  }

  async workers(): Promise<Worker[]> {
    return (await this.#hub.call(adminRoutes.listWorkers, {})).body;
  }

  /** The receipt of the last attempt that has one, with everything needed to check it. */
  async receipt(id: string): Promise<ReceiptView> {
    return (await this.#hub.call(jobRoutes.getReceipt, { params: { id } })).body;
  }

  async #submitDefined(
    job: JobDefinition<unknown, unknown>,
    params?: unknown,
    options: SubmitOptions = {},
  ): Promise<Accepted> {
    checkSubmitOptions(options);
    return this.#queue.submit(await describe(job, params, options));
  }
}

/** A job of a definition as the hub reads it; params that do not fit its schema are refused. */
async function describe(
  { type, params: schema }: JobDefinition<unknown, unknown>,
  params: unknown,
  options: SubmitOptions,
): Promise<JobInput> {
  await checkValue(schema, params, "params");
  return { ...wireNames(options), type, params } as JobInput;
}

function isList<T>(given: readonly T[] | object): given is readonly T[] {
  return Array.isArray(given);
}
