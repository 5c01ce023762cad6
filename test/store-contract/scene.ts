import { createHash } from "node:crypto";
import type { LoggedEvent, Origin } from "../../src/core/events.ts";
import type { Change, Fence } from "../../src/core/jobs/change.ts";
import type { JobRecord, NewJob } from "../../src/core/jobs/job.ts";
import type { ChangeRules } from "../../src/core/jobs/outcome.ts";
import { plainFacts, plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import { type QueueFacts, queueKey, type WorkerFacts } from "../../src/core/jobs/queue-key.ts";
import type { CommitNotice } from "../../src/store/event-store.ts";
import type {
  ChangeAnswer,
  ClaimedJob,
  ClaimInput,
  ClaimOutcome,
  JobChange,
  Store,
  SubmitOutcome,
} from "../../src/store/store.ts";
import type { WorkerRegistration } from "../../src/store/worker-store.ts";
import type { StoreUnderTest } from "./under-test.ts";

/** Seals the documents of every store under test. */
export const macKey = Buffer.alloc(32, 7);
export const leaseMs = 60_000;
export const startMs = 1_700_000_000_000;

export const origin: Origin = {
  userId: "u1",
  ipAddress: "127.0.0.1",
  userAgent: "test",
  endpoint: "/api/v1/jobs",
  method: "POST",
};

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

type JobParts = Partial<NewJob> & { facts?: Partial<QueueFacts> };

/** A store with a clock of its own and short words for what tests do most. */
export class Scene {
  readonly under: StoreUnderTest;
  store: Store;
  nowMs = startMs;
  backoffScale = 1;
  notices: CommitNotice[] = [];
  #made = 0;
  readonly #others: Store[] = [];

  static async open(under: StoreUnderTest): Promise<Scene> {
    return new Scene(under, await under.open());
  }

  constructor(under: StoreUnderTest, store: Store) {
    this.under = under;
    this.store = store;
    // That somebody else has written may be said at any moment.
    store.onCommit((notice) => {
      if (!notice.isAll) this.notices.push(notice);
    });
  }

  async reopen(): Promise<void> {
    await this.store.close();
    this.store = await this.under.open();
  }

  /** A second store on the same database, such as another hub would have. */
  async openAnother(): Promise<Store> {
    const store = await this.under.open();
    this.#others.push(store);
    return store;
  }

  async end(): Promise<void> {
    await Promise.all([this.store, ...this.#others].map((store) => store.close()));
    await this.under.remove();
  }

  get rules(): ChangeRules {
    return { nowMs: this.nowMs, leaseMs, backoffScale: this.backoffScale };
  }

  /** An id that is new in this scene and sorts by when it was made. */
  newId(): string {
    return `00000000-0000-7000-8000-${String(++this.#made).padStart(12, "0")}`;
  }

  newJob(parts: JobParts = {}): NewJob {
    const { facts, ...rest } = parts;
    const id = rest.id ?? this.newId();
    const routing = { ...plainFacts, ...facts };
    if (rest.tenantId !== undefined) routing.tenant_id = rest.tenantId;
    if (rest.type !== undefined) routing.type = rest.type;
    const document = JSON.stringify({ job_id: id, type: routing.type });
    return {
      id,
      tenantId: routing.tenant_id,
      userId: "u1",
      type: routing.type,
      priority: 5,
      queueKey: queueKey(routing),
      documentSha256: sha256(document),
      idempotencyKey: id,
      requestHash: null,
      isKeyChosen: parts.idempotencyKey !== undefined,
      maxAttempts: 3,
      attemptsChosen: false,
      limitsDefaulted: null,
      timeoutSec: 300,
      queueTtlSec: null,
      createdAt: this.nowMs,
      runAt: this.nowMs,
      document,
      summary: null,
      terms: null,
      ...rest,
    };
  }

  /** Submits one job and returns its id. */
  async submit(parts: JobParts = {}): Promise<string> {
    const job = this.newJob(parts);
    const outcome = await this.submitAll([job]);
    if (outcome.kind !== "accepted") throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
    return job.id;
  }

  submitAll(jobs: NewJob[], maxPending: number | null = null): Promise<SubmitOutcome> {
    return this.store.submitJobs({ jobs, maxPending, origin });
  }

  claimUpTo(max: number, worker: Partial<WorkerFacts> = {}, workerId = "w1"): Promise<ClaimOutcome> {
    return this.store.claimJobs({
      ...this.claimInput(max),
      workerId,
      worker: { ...plainWorker, ...worker },
    });
  }

  claimInput(max: number): ClaimInput {
    return {
      workerId: "w1",
      worker: plainWorker,
      max,
      bytesMax: 8 * 1024 ** 2,
      leaseSecret: `secret-${++this.#made}`,
      rules: this.rules,
    };
  }

  async claimIds(max: number, worker: Partial<WorkerFacts> = {}): Promise<string[]> {
    return (await this.claimUpTo(max, worker)).claimed.map(({ job }) => job.id);
  }

  /** Claims the one job that is there. */
  async claim(workerId = "w1"): Promise<ClaimedJob> {
    const { claimed } = await this.claimUpTo(1, {}, workerId);
    if (claimed[0] === undefined) throw new Error("there was nothing to claim");
    return claimed[0];
  }

  async submitAndClaim(parts: JobParts = {}): Promise<ClaimedJob> {
    await this.submit(parts);
    return this.claim();
  }

  async submitAndStart(parts: JobParts = {}): Promise<ClaimedJob> {
    const claimed = await this.submitAndClaim(parts);
    await this.change(claimed, { act: "start", isolation: null });
    return claimed;
  }

  /** Applies one change for the attempt that this claim gave. */
  async change(claimed: ClaimedJob, change: Fenceless): Promise<ChangeAnswer> {
    return this.changeJob(claimed.job.id, { ...change, fence: fenceOf(claimed) } as JobChange["change"]);
  }

  /** The answer, with what else the record says now. */
  async changeJob(jobId: string, change: JobChange["change"]): Promise<ChangeAnswer> {
    const input = { changes: [{ jobId, change }], rules: this.rules, origin };
    const [answer] = await this.store.changeJobs(input);
    if (answer!.kind === "unknown") return answer!;
    return { ...answer!, job: { ...(await this.job(jobId)), ...answer!.job } };
  }

  cancel(jobId: string): Promise<ChangeAnswer> {
    return this.changeJob(jobId, { act: "cancel" });
  }

  async job(jobId: string): Promise<JobRecord> {
    const stored = await this.store.getJob({ jobId });
    if (stored === null) throw new Error(`there is no job ${jobId}`);
    return stored.job;
  }

  async reap(): Promise<number> {
    return (await this.store.reapJobs({ rules: this.rules, limit: 1_000 })).reaped;
  }

  registration(parts: Partial<WorkerRegistration> = {}): WorkerRegistration {
    const plain = { id: "w1", name: null, slots: 2, keyIds: [], publicKey: null, version: "1" };
    return { ...plain, facts: plainWorker, ...parts };
  }

  register(parts: Partial<WorkerRegistration> = {}): ReturnType<Store["registerWorker"]> {
    return this.store.registerWorker({ worker: this.registration(parts), nowMs: this.nowMs, origin });
  }

  events(jobId: string): Promise<LoggedEvent[]> {
    return this.store.readEvents({ afterSeq: 0, limit: 1_000, jobId });
  }

  async eventNames(jobId: string): Promise<string[]> {
    return (await this.events(jobId)).map(({ event }) => event);
  }

  async lastEvent(): Promise<LoggedEvent> {
    const { last } = await this.store.eventRange();
    const [event] = await this.store.readEvents({ afterSeq: last - 1, limit: 1 });
    return event!;
  }
}

type Fenceless = DistributiveOmit<Extract<Change, { fence: Fence }>, "fence">;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export function fenceOf({ job, leaseToken }: ClaimedJob): Fence {
  return { workerId: job.workerId!, attempt: job.attempt, tokenHash: sha256(leaseToken) };
}

const report = { exitCode: null, isolation: null, usage: null, outputFiles: null, receipt: null };

export function resultOf(result: string, resultKey: string | null = null) {
  return { act: "result", result, resultHash: sha256(result), resultKey, ...report } as const;
}

export function failureOf(code: "EXECUTION_ERROR" | "TIMEOUT" | "INVALID_JOB" | "SECURITY_VIOLATION") {
  return { act: "fail", code, detail: null, reason: "it broke", partialResult: null, ...report } as const;
}
