import type { JobRecord } from "../../core/jobs/job.ts";
import { NoticeBuilder, type NoticeMark } from "../jobs/notice-builder.ts";
import { ParkedClaims } from "../queues/parked-claims.ts";
import type { QueueBook } from "../queues/queue-book.ts";
import { loadBook, writeBook } from "./claims/queue-rows.ts";
import { OwnerCounts } from "./counts/owner-counts.ts";
import { Tallies, type TallyMark } from "./counts/tallies.ts";
import { loadWorkerCounts, type WorkerCounts } from "./counts/worker-counts.ts";
import type { Connection } from "./database/connection.ts";
import { FreshJobs } from "./jobs/fresh-jobs.ts";
import { type ChainEnd, EventChain } from "./log/event-chain.ts";

/** What every act works with: the connection, what is kept in memory beside it, and the seal key. Why: ADR 0003. */
export type Context = {
  readonly sql: Connection;
  readonly book: QueueBook;
  readonly tallies: Tallies;
  readonly workers: WorkerCounts;
  readonly owners: OwnerCounts;
  readonly notice: NoticeBuilder;
  readonly chain: EventChain;
  readonly macKey: Buffer;
  /** Records of jobs that workers hold, so that a result need not read its job again. The fence protects them. */
  readonly held: Map<string, JobRecord>;
  /** Jobs that can be claimed without reading their rows. */
  readonly fresh: FreshJobs;
  /** Claims that wait for jobs. */
  readonly parked: ParkedClaims;
  /** The numbers of claimable jobs that cannot be read, because their pages are broken. */
  readonly unreadable: Set<number>;
  /** True after a failed commit: the next ping tries a write. */
  writeFailed: boolean;
};

/** What acts need that touch no row of a job. */
export type ColdContext = Pick<Context, "sql" | "book" | "tallies" | "writeFailed">;

export function createContext(sql: Connection, macKey: Buffer, unreadable: Set<number>): Context {
  return {
    sql,
    macKey,
    book: loadBook(sql),
    tallies: new Tallies(sql),
    workers: loadWorkerCounts(sql),
    owners: new OwnerCounts(sql),
    notice: new NoticeBuilder(),
    chain: new EventChain(),
    held: new Map(),
    fresh: new FreshJobs(),
    parked: new ParkedClaims(),
    unreadable,
    writeFailed: false,
  };
}

type ContextMark = {
  book: number;
  tallies: TallyMark;
  workers: number;
  owners: number;
  notice: NoticeMark;
  chain: ChainEnd;
};

export function markContext(context: Context): ContextMark {
  return {
    book: context.book.mark(),
    tallies: context.tallies.mark(),
    workers: context.workers.mark(),
    owners: context.owners.mark(),
    notice: context.notice.mark(),
    chain: context.chain.mark(),
  };
}

/** Memory follows the database when an act is rolled back. */
export function rollBackContext(context: Context, mark: ContextMark): void {
  context.book.backTo(mark.book);
  context.tallies.backTo(mark.tallies);
  context.workers.backTo(mark.workers);
  context.owners.backTo(mark.owners);
  context.notice.backTo(mark.notice);
  context.chain.backTo(mark.chain);
  forgetJobs(context);
}

/** Rows were changed that memory may hold: the next act reads them. */
export function forgetJobs({ held, fresh }: Context): void {
  held.clear();
  fresh.clear();
}

/** Writes what memory has counted; the last step before a commit. */
export function flushContext(context: Context): void {
  writeBook(context);
  context.tallies.flush(context.sql);
  context.workers.flush(context.sql);
  context.owners.flush(context.sql);
}
