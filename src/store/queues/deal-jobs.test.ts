import { describe, expect, it } from "vitest";
import { decideEffects } from "../../core/jobs/effects.ts";
import { aJob, nowMs, rules } from "../../core/jobs/job.testing.ts";
import type { JobRecord } from "../../core/jobs/job.ts";
import { plainFacts, plainWorker } from "../../core/jobs/queue-key.testing.ts";
import { queueKey } from "../../core/jobs/queue-key.ts";
import { sealJob } from "../jobs/job-seal.ts";
import { noteEffects } from "../jobs/note-effects.ts";
import { NoticeBuilder } from "../jobs/notice-builder.ts";
import type { ClaimInput } from "../store.ts";
import { dealJobs, type SealedJob } from "./deal-jobs.ts";
import { QueueBook } from "./queue-book.ts";

const macKey = Buffer.alloc(32, 7);
/** A driver that keeps jobs in lists, one queue for each tenant. */
class Dealer {
  readonly book = new QueueBook({ queues: [], turns: [], pausedTypes: [], quotas: [] });
  readonly delayed: string[] = [];
  locked: string | null = null;
  readonly #notice = new NoticeBuilder();
  readonly #waiting = new Map<string, SealedJob[]>();
  #turn = 0;

  add(tenantId: string, parts: Partial<JobRecord> & { document?: string; isForged?: boolean } = {}): void {
    const { document = "{}", isForged = false, ...fields } = parts;
    const key = queueKey({ ...plainFacts, tenant_id: tenantId });
    const empty = { id: this.#waiting.size + 1, key, pending: 0, active: 0, jobs: 0 };
    const queue = this.book.byKey(key) ?? this.book.enter(empty);
    const list = this.#waiting.get(tenantId) ?? [];
    const id = `${tenantId}${list.length + 1}`;
    const job = aJob("pending", { id, tenantId, queueKey: key, ...fields });
    const mac = isForged ? null : sealJob(macKey, job, document);
    this.#waiting.set(tenantId, [...list, { job, document, mac }]);
    this.book.adjust(queue, { jobs: 1, pending: 1, active: 0 });
  }

  deal(max: number, input: Partial<ClaimInput> = {}): { claimed: string[]; refused: string[] } {
    const full = { workerId: "w1", worker: plainWorker, max, bytesMax: 1_000, leaseSecret: "secret", rules };
    const outcome = dealJobs(
      {
        book: this.book,
        macKey,
        isLocked: (tenantId) => tenantId === this.locked,
        jobsOf: ({ tenant }) => {
          const list = this.#waiting.get(tenant.id) ?? [];
          return { peek: () => list[0] ?? null, take: () => list.shift() };
        },
        change: (job, change) => {
          const decided = decideEffects(job, change, { rules, origin: null });
          if (decided.kind !== "moved") return null;
          noteEffects({ book: this.book, notice: this.#notice }, decided.effects);
          return decided.effects.after;
        },
        delay: ({ id }) => this.delayed.push(id),
        nextTurn: () => ++this.#turn,
      },
      { ...full, ...input },
    );
    return { claimed: outcome.claimed.map(({ job }) => job.id), refused: outcome.refused };
  }
}

describe("a deal", () => {
  it("gives nothing of a paused type, nor to a worker that does not fit", () => {
    const dealer = new Dealer();
    dealer.add("a");
    expect(dealer.deal(1, { worker: { ...plainWorker, location: "CLOUD" } }).claimed).toEqual([]);
    dealer.book.setPaused("build", true);
    expect(dealer.deal(1).claimed).toEqual([]);
    dealer.book.setPaused("build", false);
    expect(dealer.deal(1).claimed).toEqual(["a1"]);
  });

  it("refuses forged jobs, as many as it may, and gives the next genuine one", () => {
    const dealer = new Dealer();
    for (let made = 0; made < 101; made++) dealer.add("a", { isForged: true });
    dealer.add("a");
    expect(dealer.deal(1)).toMatchObject({ claimed: [], refused: { length: 100 } });
    expect(dealer.deal(1)).toEqual({ claimed: ["a102"], refused: ["a101"] });
  });

  it("sends a job back to wait that is not due, and tries the next", () => {
    const dealer = new Dealer();
    dealer.add("a", { runAt: nowMs + 1 });
    dealer.add("a");
    expect(dealer.deal(1).claimed).toEqual(["a2"]);
    expect(dealer.delayed).toEqual(["a1"]);
  });

  it("goes from tenant to tenant, and remembers who was served last", () => {
    const dealer = new Dealer();
    for (const tenant of ["a", "b", "c"]) for (let made = 0; made < 3; made++) dealer.add(tenant);
    expect(dealer.deal(4).claimed).toEqual(["a1", "b1", "c1", "a2"]);
    dealer.add("d");
    expect(dealer.deal(4).claimed).toEqual(["d1", "b2", "c2", "a3"]);
  });

  it("gives a tenant no more than it may run, however long its turn was ago", () => {
    const dealer = new Dealer();
    for (const tenant of ["a", "b"]) for (let made = 0; made < 3; made++) dealer.add(tenant);
    dealer.book.setQuota("a", { max_running: 1 });
    expect(dealer.deal(4).claimed).toEqual(["a1", "b1", "b2", "b3"]);
  });

  it("ends when the next document would be too many bytes, but gives always one", () => {
    const dealer = new Dealer();
    for (let made = 0; made < 3; made++) dealer.add("a", { document: "x".repeat(600) });
    expect(dealer.deal(3, { bytesMax: 10 }).claimed).toEqual(["a1"]);
    expect(dealer.deal(3, { bytesMax: 1_200 }).claimed).toEqual(["a2", "a3"]);
  });
});
