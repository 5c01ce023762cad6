import type { JobRecord } from "../../../core/jobs/job.ts";
import { laneStandOf, lanesOf } from "../../../core/lanes/lane-move.ts";
import { doWork } from "../../acts/act.ts";
import {
  type LaneDriver,
  type LaneMove,
  mayStart,
  type OpenLanes,
  openDueLanes,
  openLanes,
  settleLanes,
} from "../../acts/settle-lanes.ts";
import { driveAct } from "../acts/drive-act.ts";
import { readKept, recordColumns, recordFrom } from "../jobs/job-row.ts";
import type { Transaction } from "./transaction.ts";
import type { KeptJob } from "./work.ts";

type Noted = { nowMs: number; lingersUntil: number | null; isAnnounced: boolean };

const headText = `SELECT ${recordColumns} FROM ${recordFrom("held")} WHERE j.seq = $1 FOR UPDATE OF s SKIP LOCKED`;

/**
 * The lanes of the jobs that a transaction changes: noted with each change, settled before the commit. Lanes are locked after the
 * rows of jobs, in the order of their ids, and what is let in then is skipped if another transaction has it. Why: ADR 0137.
 */
export class LanesOfTransaction {
  readonly #tx: Transaction;
  readonly #moves = new Map<number, LaneMove>();
  /** Those for which workers are told after the commit that they can be claimed. */
  readonly #announced = new Set<number>();
  /** Of the jobs that are being dealt, locked. */
  #open: OpenLanes = new Map();
  #nowMs = 0;

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  note(before: KeptJob | null, now: KeptJob, { nowMs, lingersUntil, isAnnounced }: Noted): void {
    const terms = lanesOf(now.job);
    if (terms.length === 0) return;
    const { seq, id, priority, tenantId, userId, attempt } = now.job;
    const known = this.#moves.get(seq);
    const from = known?.from ?? (before === null ? "gone" : laneStandOf(before.job, nowMs));
    const to = laneStandOf(now.job, nowMs);
    const isNew = known?.isNew ?? before === null;
    const job = { seq, id, queueId: now.queueId, priority, tenantId, userId, attempt, terms };
    this.#moves.set(seq, { ...job, from, to, isNew, lingersUntil: known?.lingersUntil ?? lingersUntil });
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    if (isAnnounced) this.#announced.add(seq);
    else this.#announced.delete(seq);
  }

  async settle(): Promise<void> {
    const moves = [...this.#moves.values()].filter(
      ({ from, to }) => from !== to || (to !== "taken" && to !== "gone"),
    );
    this.#moves.clear();
    if (moves.length > 0) await driveAct(this.#tx.sql, settleLanes(this.#driver(), moves, this.#nowMs));
  }

  /** Lets lanes open whose time has come; answers when the next one may. */
  openDue(input: { nowMs: number; limit: number }): Promise<number | null> {
    return driveAct(this.#tx.sql, openDueLanes(this.#driver(), input));
  }

  /** Before they are dealt: no other transaction changes the lanes of these jobs until this one ends. */
  async lock(jobs: readonly JobRecord[]): Promise<void> {
    const inLanes = jobs
      .map((job) => ({ ...job, terms: lanesOf(job) }))
      .filter(({ terms }) => terms.length > 0);
    if (inLanes.length > 0) this.#open = await driveAct(this.#tx.sql, openLanes(inLanes));
  }

  /** Decides for one deal, which may be dealt again from the beginning. */
  deal(): (job: JobRecord, nowMs: number) => boolean {
    const open = new Map(this.#open);
    return (job, nowMs) => {
      const terms = lanesOf(job);
      return terms.length === 0 || mayStart(open, { ...job, terms }, nowMs);
    };
  }

  #driver(): LaneDriver {
    const { work } = this.#tx;
    const tx = this.#tx;
    const announced = this.#announced;
    return {
      *admit(seq) {
        let kept: KeptJob | undefined = work.jobs.get(seq);
        if (kept === undefined)
          yield* doWork(async () => {
            const [row] = await tx.sql.rows(headText, seq);
            if (row !== undefined) kept = readKept(row, "held");
          });
        if (kept === undefined) return false;
        work.put(kept, { ...kept, place: "ready" });
        work.notice.ready(kept.job.queueKey, 1);
        work.isNews = true;
        return true;
      },
      putInLine(seq) {
        const kept = work.jobs.get(seq)!;
        work.put(kept, { ...kept, place: "held" });
        if (announced.delete(seq)) work.notice.ready(kept.job.queueKey, -1);
      },
    };
  }
}
