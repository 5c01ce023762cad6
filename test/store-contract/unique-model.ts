import { expect } from "vitest";
import { isEnded, type JobRecord } from "../../src/core/jobs/job.ts";
import type { Unique } from "../../src/core/unique/unique.ts";
import type { ClaimedJob, SubmitOutcome } from "../../src/store/store.ts";
import { failureOf, resultOf, type Scene } from "./scene.ts";

type Random = {
  /** Both ends are among them. */
  between(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
};

/** The same numbers for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  return {
    between: (from, to) => from + below(to - from + 1),
    pick: (list) => list[below(list.length)]!,
  };
}

type Known = { id: string; userId: string; unique: Unique; createdAt: number; isGivenBack: boolean };

const keys = ["a", "b", "c"];

/** Random acts on jobs with unique keys, each compared with what it must do. Every act of a worker is delivered twice. */
export class UniqueModel {
  readonly #scene: Scene;
  readonly #jobs: Known[] = [];
  readonly #held: ClaimedJob[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async step(random: Random): Promise<void> {
    const act = random.between(0, 9);
    if (act <= 3) await this.#submit(random);
    else if (act <= 5) await this.#claim();
    else if (act === 6) await this.#end(random);
    else if (act === 7) await this.#cancelOrRetry(random);
    else this.#scene.nowMs += random.between(1, 40_000);
    await this.#check();
  }

  /** At rest nothing waits for a key: every job that was accepted can run. */
  async drain(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      this.#scene.nowMs += 3_600_000;
      await this.#scene.reap();
      await this.#claim();
      for (const claimed of this.#held.splice(0)) await this.#scene.change(claimed, resultOf("1"));
      const { jobs } = await this.#scene.store.listJobs({ limit: 1_000 });
      if (jobs.every(({ job }) => isEnded(job.status))) break;
    }
  }

  async #submit(random: Random): Promise<void> {
    const unique = uniqueOf(random);
    const userId = random.pick(["u1", "u1", "u2"]);
    const holder = await this.#holderOf(unique.key);
    const terms = JSON.stringify({ unique });
    const sent = this.#scene.newJob({ userId, terms, maxAttempts: 9 });
    const outcome = await this.#scene.submitAll([sent]);
    if (holder !== null && holder.record.userId !== userId) {
      expect(outcome).toEqual({ kind: "unique_held", index: 0 });
      return;
    }
    const isWaiting = holder?.record.status === "pending" && holder.record.attempt === 0;
    const isReplaced = isWaiting && unique.on_duplicate === "replace";
    if (holder !== null && !isReplaced) {
      expect(idOf(outcome)).toEqual([holder.record.id, true]);
      return;
    }
    expect(idOf(outcome)).toEqual([sent.id, false]);
    if (holder !== null) {
      holder.known.isGivenBack = true;
      expect(await this.#scene.job(holder.record.id)).toMatchObject({ failDetail: "SUPERSEDED" });
    }
    this.#jobs.push({ id: sent.id, userId, unique, createdAt: sent.createdAt, isGivenBack: false });
  }

  async #claim(): Promise<void> {
    const { nowMs } = this.#scene;
    await this.#scene.store.promoteJobs({ nowMs, limit: 99 });
    this.#held.push(...(await this.#scene.claimUpTo(3)).claimed);
  }

  async #end(random: Random): Promise<void> {
    const claimed = this.#held.pop();
    if (claimed === undefined) return;
    const end = random.pick([resultOf("1"), failureOf("EXECUTION_ERROR"), failureOf("INVALID_JOB")]);
    const first = await this.#scene.change(claimed, end);
    // No worker's act is refused for a key; the lease may be over.
    if (first.kind === "refused") expect(first.code).toBe("LEASE_LOST");
    const again = await this.#scene.change(claimed, end);
    expect(again.kind === "refused" ? again.code : again.kind).toMatch(/LEASE_LOST|duplicate/);
  }

  async #cancelOrRetry(random: Random): Promise<void> {
    if (this.#jobs.length === 0) return;
    const known = random.pick(this.#jobs);
    const job = await this.#scene.job(known.id);
    if (!isEnded(job.status)) {
      await this.#scene.cancel(known.id);
      return;
    }
    const holder = await this.#holderOf(known.unique.key);
    const answer = await this.#scene.changeJob(known.id, { act: "retry" });
    if (job.status === "completed") expect(answer).toMatchObject({ code: "STATE_CONFLICT" });
    else if (holder !== null && holder.record.id !== known.id)
      expect(answer).toMatchObject({ kind: "refused", code: "UNIQUE_HELD" });
    else expect(answer.kind).toBe("moved");
  }

  /** After every act: which keys have been given back, and that no key has two holders. */
  async #check(): Promise<void> {
    await this.#scene.reap();
    const holders = new Map<string, string>();
    for (const known of this.#jobs) {
      if (known.isGivenBack) continue;
      const job = await this.#scene.job(known.id);
      known.isGivenBack = this.#hasGivenBack(known, job);
      if (known.isGivenBack) continue;
      expect(holders.get(known.unique.key), `${known.unique.key} has two holders`).toBeUndefined();
      holders.set(known.unique.key, known.id);
    }
  }

  #hasGivenBack({ unique, createdAt }: Known, job: JobRecord): boolean {
    if (unique.until === "start") return job.status !== "pending" || job.attempt > 0;
    if (unique.until === "end") return isEnded(job.status);
    return createdAt + unique.window_sec! * 1000 <= this.#scene.nowMs;
  }

  async #holderOf(key: string): Promise<{ known: Known; record: JobRecord } | null> {
    for (const known of this.#jobs) {
      if (known.unique.key !== key || known.isGivenBack) continue;
      const record = await this.#scene.job(known.id);
      if (!this.#hasGivenBack(known, record)) return { known, record };
    }
    return null;
  }
}

function uniqueOf(random: Random): Unique {
  const until = random.pick(["start", "end", "window"] as const);
  const on_duplicate = random.pick([undefined, "keep", "replace", "postpone"] as const);
  return {
    key: random.pick(keys),
    until,
    ...(until === "window" && { window_sec: random.between(1, 90) }),
    ...(on_duplicate !== undefined && { on_duplicate }),
    ...(on_duplicate === "postpone" && { debounce_sec: random.between(1, 20) }),
  };
}

function idOf(outcome: SubmitOutcome): unknown {
  if (outcome.kind !== "accepted") return outcome;
  const [job] = outcome.jobs;
  return [job!.id, job!.isDuplicate ?? false];
}
