import type { NewEvent } from "../../../core/events.ts";
import type { Effects } from "../../../core/jobs/effects.ts";
import { leadLost } from "../../database/hub-seat.ts";
import { isSealed, sealJob } from "../../jobs/job-seal.ts";
import { noteEffects } from "../../jobs/note-effects.ts";
import type { Position, Reading } from "../claims/claim-floors.ts";
import type { Connection, SqlValue } from "../connection/connection.ts";
import { lockLogText } from "../connection/locks.ts";
import type { Changes, SharedState } from "../hubs/shared-state.ts";
import { type Place, places } from "../jobs/job-row.ts";
import { changeBeside } from "../jobs/keep-beside.ts";
import type { LaneGroup } from "./finish-group.ts";
import {
  deleteText,
  insertJobs,
  insertStates,
  type Statement,
  type SubmittedJob,
  updateStates,
} from "./job-writes.ts";
import { LanesOfTransaction } from "./lanes-of-transaction.ts";
import { type JobWrite, type KeptJob, Work } from "./work.ts";

/** What this store's transactions have in common. */
export type StoreContext = {
  readonly shared: SharedState;
  readonly macKey: Buffer;
  /** Of the lead of this hub; null while another one leads, undefined in a process that is no hub. */
  readonly term?: (() => number | null) | undefined;
  /** Runs statements outside of the transaction: at once, and for good. */
  apart<T>(use: (sql: Connection) => Promise<T>): Promise<T>;
};

export type Finished = { last: number; version: number; output_bytes: number };

/**
 * One transaction. Acts read, decide, and leave what they decided in `work`; all of it is written at the end, in one write
 * with the commit. Statements that an act sends without waiting are awaited there. Why: ADR 0021, ADR 0080.
 */
export class Transaction {
  readonly sql: Connection;
  readonly context: StoreContext;
  readonly work = new Work();
  /** It holds the lock of the log from the beginning: what it reads is exact, and stays so. */
  readonly isExact: boolean;
  /** Resolves when it is over and the claims and hubs that it concerns have been notified. */
  readonly ended: Promise<void>;
  /** New queues of this transaction, by their keys. */
  readonly newQueues = new Map<string, number>();
  /** Rows of new jobs that are to be written with the rest. */
  newRows: SubmittedJob[] = [];
  readonly #sent: Promise<unknown>[] = [];
  readonly #afterwards: (() => void)[] = [];
  #changes: Promise<Changes | null> | null = null;
  /** The lanes of the jobs that it changes. */
  readonly lanes: LanesOfTransaction;
  lastSeq = 0;
  #reading: Reading | null = null;

  constructor(
    sql: Connection,
    context: StoreContext,
    { isExact, ended }: { isExact: boolean; ended: Promise<void> },
  ) {
    this.sql = sql;
    this.context = context;
    this.isExact = isExact;
    this.ended = ended;
    this.lanes = new LanesOfTransaction(this);
  }

  get shared(): SharedState {
    return this.context.shared;
  }

  /** Begins, and asks for what others have changed; what `read` sends leaves in the same write. */
  async begin<T>(read: () => Promise<T>): Promise<T> {
    const reads = this.sql.together(() => {
      this.send("BEGIN");
      if (this.isExact) this.send(lockLogText);
      this.#changes = this.shared.ask(this.sql);
      this.#changes.catch(() => {});
      return read();
    });
    reads.catch(() => {});
    await this.settle();
    const changes = await this.#changes!;
    const answer = await reads;
    this.shared.apply(changes!);
    this.lastSeq = changes!.last;
    return answer;
  }

  /** Throws if this hub does not lead. Until the transaction ends, no other hub takes the lead. */
  async requireLead(): Promise<void> {
    if (this.context.term === undefined) return;
    const held = await this.sql.first("SELECT 1 FROM leader WHERE term = $1 FOR SHARE", this.context.term());
    if (held === null) throw leadLost();
  }

  /** Sends a statement of whose answer only a failure matters. */
  send(text: string, ...values: SqlValue[]): void {
    const sent = this.sql.run(text, ...values);
    sent.catch(() => {});
    this.#sent.push(sent);
  }

  sendStatement({ text, values }: Statement): void {
    this.send(text, ...values);
  }

  /** Waits for what was sent, and throws the first failure. */
  async settle(): Promise<void> {
    for (const sent of this.#sent.splice(0)) await sent;
  }

  log(event: NewEvent & { jobSeq?: number | null }): void {
    this.work.log(event);
  }

  /**
   * Runs a decision with the book as this transaction sees it. Others decide while this one waits for the database, so
   * the book is put back at once: it changes for good only with what is committed.
   */
  inBook<T>(decide: () => T): T {
    const { book } = this.shared;
    const mark = book.mark();
    try {
      for (const [key, id] of this.newQueues)
        if (book.byId(id) === undefined) book.enter({ id, key, pending: 0, active: 0, jobs: 0 });
      for (const [id, counts] of this.work.queues) {
        const queue = book.byId(id);
        if (queue !== undefined) book.adjust(queue, counts);
      }
      for (const [tenantId, turn] of this.work.turns) book.served(book.tenant(tenantId), turn);
      return decide();
    } finally {
      book.backTo(mark);
    }
  }

  /** Inside of `inBook`: a job changes, with all that follows. */
  apply(kept: KeptJob | null, effects: Effects, queueId: number): KeptJob {
    noteEffects({ book: this.shared.book, notice: this.work.notice }, effects);
    const { after } = effects;
    if (after.terms !== null) changeBeside(this, kept?.job ?? null, after);
    return this.work.change(kept, effects, queueId);
  }

  /** Sends the rows of jobs that have changed so far. */
  writeJobs(newRows: SubmittedJob[] = []): void {
    const writes = [...this.work.jobs.values()].filter(({ isSent }) => !isSent);
    if (newRows.length > 0) this.sendStatement(insertJobs(newRows));
    for (const place of places) this.#writePlace(place, writes);
    for (const write of writes) {
      write.from = write.place;
      write.isSent = true;
    }
  }

  #writePlace(place: Place, writes: JobWrite[]): void {
    const left = writes.filter((write) => write.from === place && write.place !== place);
    const stayed = writes.filter((write) => write.from === place && write.place === place);
    const came = writes.filter((write) => write.from !== place && write.place === place);
    if (left.length > 0)
      this.send(
        deleteText[place],
        left.map(({ job }) => job.seq),
      );
    if (stayed.length > 0) this.sendStatement(updateStates(place, stayed));
    if (came.length > 0) this.sendStatement(insertStates(place, came));
  }

  /** Seals jobs again whose timeout has changed. A seal that was broken before stays broken. */
  async resealJobs(): Promise<void> {
    const changed = [...this.work.jobs.values()].filter(
      ({ before, job }) => before !== null && before.timeoutSec !== job.timeoutSec,
    );
    if (changed.length === 0) return;
    const { macKey } = this.context;
    const seqs = changed.map(({ job }) => job.seq);
    const rows = await this.sql.all<{ seq: number; document: string | null; mac: Buffer | null }>(
      "SELECT seq, document, mac FROM jobs WHERE seq = ANY ($1)",
      seqs,
    );
    for (const { seq, document, mac } of rows) {
      const { before, job } = this.work.jobs.get(seq)!;
      if (document === null || mac === null || !isSealed(macKey, before!, document, mac)) continue;
      this.send("UPDATE jobs SET mac = $1 WHERE seq = $2", sealJob(macKey, job, document), seq);
    }
  }

  /** Writes what is left, and the commit, in one write. Null for `finished` if nothing that others share has changed. */
  async commit(lane: LaneGroup | null): Promise<Finished | null> {
    await this.lanes.settle();
    await this.resealJobs();
    const finish = this.work.finish(lane);
    const spending = this.work.spending();
    const [finished, committed] = this.sql.together(() => {
      if (spending !== null) this.sendStatement(spending);
      this.writeJobs(this.newRows);
      if (finish === null && lane !== null) this.send(laneText, lane.id, lane.group);
      const finishing =
        finish === null ? Promise.resolve(null) : this.sql.first<Finished>(finish.text, ...finish.values);
      finishing.catch(() => {});
      const ending = this.sql.commit();
      ending.catch(() => {});
      return [finishing, ending];
    });
    await this.settle();
    const answer = await finished;
    await committed;
    return answer;
  }

  /** What this transaction reads of the fronts of queues. Its own new jobs may be before the floors, which others know. */
  readFronts(nowMs: number): Reading {
    if (this.#reading === null) {
      this.#reading = this.shared.floors.read(nowMs);
      for (const [queueId, position] of this.#readyPositions()) this.#reading.came(queueId, position);
    }
    return this.#reading;
  }

  /** A job of this queue has become due, here or behind. What is being read may have begun behind it. */
  promoted(queueId: number, position: Position): void {
    this.work.promoted.set(queueId, position);
    this.#reading?.came(queueId, position);
  }

  /** Where the jobs are that this transaction has made claimable. */
  *#readyPositions(): Iterable<[queueId: number, Position]> {
    for (const { job, place, queueId } of this.work.jobs.values())
      if (place === "ready") yield [queueId, { rank: -job.priority, seq: job.seq }];
  }

  /** Called after the commit, in the moment in which the acts are answered. */
  onCommitted(listener: () => void): void {
    this.#afterwards.push(listener);
  }

  committed(): void {
    const { floors, held } = this.shared;
    for (const write of this.work.jobs.values()) held.note(write);
    for (const [queueId, position] of this.#readyPositions()) floors.came(queueId, position);
    for (const [queueId, position] of this.work.promoted) floors.came(queueId, position);
    this.#reading?.end((seq) => (this.work.jobs.get(seq)?.place ?? "ready") !== "ready");
    for (const listener of this.#afterwards) listener();
  }

  async rollBack(): Promise<void> {
    await Promise.allSettled(this.#sent.splice(0));
    await this.sql.script("ROLLBACK");
  }
}

const laneText = "UPDATE lanes SET last_group = $2, used_at = now() WHERE id = $1";
