import type { RouteName } from "../src/contract/routes/routes.ts";
import type { LoggedEvent } from "../src/core/events.ts";
import { isEnded, type JobState } from "../src/core/jobs/job.ts";
import { transitions } from "../src/core/jobs/states.ts";
import type { StoredJob } from "../src/store/store.ts";
import type { HubRequest, SimHub } from "./hub.ts";
import type { World } from "./world.ts";

/** A promise of the platform that did not hold. */
export class Broken extends Error {}

type Followed = {
  name: string;
  status: JobState | null;
  attempt: number;
  events: number;
  /** Every state that it was in, with the attempt. */
  was: Set<string>;
  isCancelled: boolean;
};

type Answer = { status: number; text: string; request: HubRequest };
type SentReports = { items: { attempt: number }[]; ends?: [jobId: string, attempt: number][] };
type ReportAnswer = { items: { job_id: string; status?: JobState }[]; ends?: { row: number }[] };
type Counts = Record<JobState, number>;

const steps = new Set(transitions.flatMap(({ from, to }) => from.flatMap((a) => to.map((b) => `${a} ${b}`))));
const eventsPerRead = 1_000;

/**
 * What the platform promises, compared with what it does: after each commit with the log of events, and at each answer
 * with the database. It knows the rules only from the table of states and from what a caller may rely on.
 */
export class Promises {
  readonly #world: World;
  readonly #jobs = new Map<string, Followed>();
  /** The job of each request, by its idempotency key; a request is one job, however often it is sent. */
  readonly #byKey = new Map<string, string>();
  readonly #runs = new Map<string, string>();
  #lastSeq: number | null = null;
  #commits = -1;

  constructor(world: World) {
    this.#world = world;
  }

  get jobs(): ReadonlyMap<string, Readonly<Followed>> {
    return this.#jobs;
  }

  /** A worker has begun with an attempt. */
  begun(workerId: string, { id, attempt, name }: { id: string; attempt: number; name: string }): void {
    const key = `${id} ${attempt}`;
    const before = this.#runs.get(key);
    this.#runs.set(key, workerId);
    if (before !== undefined)
      this.#broken(`attempt ${attempt} of ${name} ran twice: on ${before} and ${workerId}`);
  }

  /** After each event of the world. */
  check(hub: SimHub | null): void {
    if (hub === null || hub.life.isOver || hub.sim.commits === this.#commits) return;
    this.#commits = hub.sim.commits;
    for (const id of this.#readLog(hub)) this.#checkRow(hub, id);
  }

  /** Everything, as after a restart and at the end. */
  checkAll(hub: SimHub): void {
    this.#readLog(hub);
    const counts: Counts = { pending: 0, assigned: 0, running: 0, completed: 0, failed: 0, quarantined: 0 };
    for (const [id, { status }] of this.#jobs) {
      this.#checkRow(hub, id);
      counts[status!]++;
    }
    const counted = hub.sim.ask<{ jobs: Counts }>("ping", undefined).jobs;
    for (const state of Object.keys(counts) as JobState[]) {
      if (counts[state] !== counted[state])
        this.#broken(`${counts[state]} jobs are ${state}, but the store counts ${counted[state]}`);
    }
  }

  /** The hub answers: from this moment on its caller relies on it. */
  note(hub: SimHub, route: RouteName | null, { status, text, request }: Answer): void {
    if (status >= 300 || status === 204) {
      if (route === "cancelJob" && status === 204) this.#noteCancel(hub, request);
      return;
    }
    const body = text === "" ? {} : JSON.parse(text);
    if (route === "submitJob") this.#noteSubmit(hub, request, body);
    if (route === "cancelJob") this.#noteCancel(hub, request);
    if (route === "getJob") this.#noteShown(hub, body);
    if (route === "finishJobs") this.#noteEnds(hub, request, body);
  }

  #noteSubmit(hub: SimHub, request: HubRequest, { id }: { id: string }): void {
    const { idempotency_key: key } = JSON.parse(Buffer.from(request.body!).toString());
    const first = this.#byKey.get(key);
    this.#byKey.set(key, id);
    if (first !== undefined && first !== id) this.#broken(`the request ${key} became two jobs`);
    this.#readLog(hub);
    if (!this.#jobs.has(id)) this.#broken(`the hub accepted ${key} before it was stored`);
  }

  #noteCancel(hub: SimHub, { path }: HubRequest): void {
    const id = path.split("/").at(-1)!;
    this.#readLog(hub);
    const stored = this.#stored(hub, id);
    const job = this.#jobs.get(id)!;
    job.isCancelled = true;
    if (stored.job.cancelRequestedAt === null && stored.job.failCode !== "CANCELLED")
      this.#broken(`the cancel of ${job.name} was accepted and is not stored`);
  }

  /** What a reader is shown was so, and nothing takes it back. */
  #noteShown(hub: SimHub, { id, status, attempt }: { id: string; status: JobState; attempt: number }): void {
    this.#readLog(hub);
    const job = this.#jobs.get(id)!;
    if (!job.was.has(`${status} ${attempt}`))
      this.#broken(`${job.name} was shown as ${status} in attempt ${attempt}, which is not stored`);
  }

  #noteEnds(hub: SimHub, request: HubRequest, answer: ReportAnswer): void {
    const sent = JSON.parse(Buffer.from(request.body!).toString()) as SentReports;
    this.#readLog(hub);
    for (const [index, { job_id, status }] of answer.items.entries())
      if (status !== undefined) this.#checkEnd(job_id, status, sent.items[index]!.attempt);
    const refused = new Set(answer.ends?.map(({ row }) => row));
    for (const [row, [jobId, attempt]] of (sent.ends ?? []).entries())
      if (!refused.has(row) && !this.#wasStopped(hub, jobId)) this.#checkEnd(jobId, "completed", attempt);
  }

  /** A row is answered only if it was refused. What comes after a cancel, or when its time is over, is the end of the job all the same. */
  #wasStopped(hub: SimHub, jobId: string): boolean {
    const { status, cancelRequestedAt } = this.#stored(hub, jobId).job;
    return status === "failed" && cancelRequestedAt !== null;
  }

  #checkEnd(jobId: string, status: JobState, attempt: number): void {
    const job = this.#jobs.get(jobId)!;
    if (!job.was.has(`${status} ${attempt}`))
      this.#broken(`the end of ${job.name} was accepted as ${status} and is not stored`);
  }

  /** Reads what is new in the log; returns the jobs that it is about. */
  #readLog(hub: SimHub): Set<string> {
    const touched = new Set<string>();
    this.#lastSeq ??= hub.sim.ask<{ first: number }>("eventRange", undefined).first - 1;
    for (;;) {
      const page: LoggedEvent[] = hub.sim.ask("readEvents", {
        afterSeq: this.#lastSeq,
        limit: eventsPerRead,
      });
      for (const event of page) {
        if (event.seq !== this.#lastSeq + 1)
          this.#broken(`the log has event ${event.seq} after ${this.#lastSeq}`);
        this.#lastSeq = event.seq;
        if (event.jobId === null || event.jobSeq === null) continue;
        this.#follow(event.jobId, event);
        touched.add(event.jobId);
      }
      if (page.length < eventsPerRead) return touched;
    }
  }

  #follow(id: string, { event, jobSeq, details }: LoggedEvent): void {
    const { status, attempt, worker_id } = details as {
      status?: JobState;
      attempt: number;
      worker_id?: string;
    };
    const job = this.#jobs.get(id) ?? this.#add(id);
    if (status === undefined) {
      // It tells of the job, and moves nothing.
      this.#world.tell(`${job.name} ${event}`);
      if (jobSeq !== job.events + 1) this.#broken(`event ${jobSeq} of ${job.name} follows ${job.events}`);
      job.events = jobSeq!;
      return;
    }
    this.#world.tell(
      `${job.name} ${event}: ${status}, attempt ${attempt}${worker_id ? ` on ${worker_id}` : ""}`,
    );
    if (jobSeq !== job.events + 1) this.#broken(`event ${jobSeq} of ${job.name} follows ${job.events}`);
    if (job.status === null && status !== "pending" && event !== "JOB_CREATED")
      this.#broken(`${job.name} begins with ${event}`);
    if (job.status !== null && job.status !== status && !steps.has(`${job.status} ${status}`))
      this.#broken(`${job.name} went from ${job.status} to ${status}`);
    // Put back by a person, who changed their mind about a cancel.
    if (job.status !== null && isEnded(job.status) && !isEnded(status)) job.isCancelled = false;
    if (job.status === "completed" && status !== "completed")
      this.#broken(`${job.name} was completed and is ${status}`);
    if (attempt < job.attempt || attempt > job.attempt + (event === "JOB_ASSIGNED" ? 1 : 0))
      this.#broken(`${event} of ${job.name} is of attempt ${attempt} after ${job.attempt}`);
    job.events = jobSeq!;
    job.status = status;
    job.attempt = attempt;
    job.was.add(`${status} ${attempt}`);
  }

  #add(id: string): Followed {
    const job: Followed = {
      name: `job ${this.#jobs.size + 1}`,
      status: null,
      attempt: 0,
      events: 0,
      was: new Set(),
      isCancelled: false,
    };
    this.#jobs.set(id, job);
    return job;
  }

  #checkRow(hub: SimHub, id: string): void {
    const followed = this.#jobs.get(id)!;
    const { job, damaged } = this.#stored(hub, id);
    const { name } = followed;
    if (damaged.length > 0) this.#broken(`the seal of ${name} is broken: ${damaged.join(", ")}`);
    if (
      job.status !== followed.status ||
      job.attempt !== followed.attempt ||
      job.eventCount !== followed.events
    )
      this.#broken(
        `${name} is ${job.status} in attempt ${job.attempt} after ${job.eventCount} events; its log says ${followed.status} in attempt ${followed.attempt} after ${followed.events}`,
      );
    if (job.attempts > job.maxAttempts)
      this.#broken(`${name} had ${job.attempts} of ${job.maxAttempts} attempts`);
    if (followed.isCancelled && job.status === "completed")
      this.#broken(`${name} was completed after its cancel`);
    if (job.status === "completed") this.#checkResult(name, job);
  }

  /** The result is what the attempt that holds the job has made, and no other. */
  #checkResult(name: string, job: StoredJob["job"]): void {
    const result = JSON.parse(job.result ?? "null") as { attempt: number; worker: string } | null;
    if (result === null || result.attempt !== job.attempt || result.worker !== job.workerId)
      this.#broken(
        `the result of ${name} is of attempt ${result?.attempt} on ${result?.worker}; it was attempt ${job.attempt} on ${job.workerId}`,
      );
  }

  #stored(hub: SimHub, id: string): StoredJob {
    const stored = hub.sim.ask<StoredJob | null>("getJob", { jobId: id });
    if (stored === null) return this.#broken(`the job ${id} is lost`);
    return stored;
  }

  #broken(what: string): never {
    throw new Broken(what);
  }
}
