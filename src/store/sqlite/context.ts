import { NoticeBuilder, type NoticeMark } from "../jobs/notice-builder.ts";
import { ParkedClaims } from "../queues/parked-claims.ts";
import type { QueueBook } from "../queues/queue-book.ts";
import { loadBook } from "./claims/queue-rows.ts";
import { readWindow } from "./claims/read-window.ts";
import { Windows } from "./claims/windows.ts";
import { OwnerCounts } from "./counts/owner-counts.ts";
import { Tallies, type TallyMark } from "./counts/tallies.ts";
import { loadWorkerCounts, type WorkerCounts } from "./counts/worker-counts.ts";
import type { Connection } from "./database/connection.ts";
import { FrameReader } from "./frames/frame-reader.ts";
import { type Changes, GroupFrame, type GroupMark } from "./frames/group-frame.ts";
import { nothingUnreadable, type Unreadable } from "./frames/unreadable.ts";
import { flushRows } from "./jobs/flush-rows.ts";
import { rowOf } from "./jobs/job-entry.ts";
import { JobMemory, type MemoryMark } from "./jobs/job-memory.ts";
import { KnownIds } from "./jobs/known-ids.ts";
import { Names } from "./jobs/names.ts";
import { isAsSubmitted } from "./jobs/new-entry.ts";
import { replayFrames } from "./jobs/replay-frames.ts";
import { type ChainEnd, loadChainEnd } from "./log/event-chain.ts";
import { leaveOutNumbers } from "./log/event-log.ts";

/** What every act works with. Memory decides; what it has decided is in the frame of the group, and in the rows later. Why: ADR 0116. */
export type Context = {
  readonly sql: Connection;
  readonly macKey: Buffer;
  readonly book: QueueBook;
  readonly tallies: Tallies;
  readonly workers: WorkerCounts;
  readonly owners: OwnerCounts;
  readonly notice: NoticeBuilder;
  readonly parked: ParkedClaims;
  readonly frame: GroupFrame;
  readonly frames: FrameReader;
  readonly jobs: JobMemory;
  readonly ids: KnownIds;
  readonly names: Names;
  readonly windows: Windows;
  readonly unreadable: Unreadable;
  readonly turns: Map<string, number>;
  chainEnd: ChainEnd;
  /** Where it was before this group. */
  previousHash: ChainEnd;
  /** Numbers of the log that are left out after this group. */
  skip: { throughSeq: number; hash: string } | null;
  /** When the first delayed job is due; undefined if that is not known, null if there is none. */
  nextRunAt: number | null | undefined;
  /** The group has changed rows directly, so all of them are written with it and no replay goes back before it. */
  mustFlush: boolean;
  /** Something was removed, of which the write-ahead log has copies; `due` once it is to be emptied. */
  removal: "none" | "some" | "due";
  writeFailed: boolean;
};

/** What acts need that touch no job. */
export type ColdContext = Pick<Context, "sql" | "book" | "tallies" | "writeFailed">;

/** Reads what the rows say, and makes up for what was committed after they were written. */
export function loadContext(sql: Connection, macKey: Buffer, unreadable = nothingUnreadable()): Context {
  const chainEnd = loadChainEnd(sql);
  const context: Context = {
    sql,
    macKey,
    book: loadBook(sql),
    tallies: new Tallies(sql),
    workers: loadWorkerCounts(sql),
    owners: new OwnerCounts(sql),
    notice: new NoticeBuilder(),
    parked: new ParkedClaims(),
    frame: new GroupFrame(sql, macKey),
    frames: new FrameReader(sql, macKey, unreadable.payloads),
    jobs: new JobMemory(),
    ids: new KnownIds(sql),
    names: new Names(sql),
    windows: new Windows((queue, limit) => readWindow(context, queue, limit)),
    unreadable,
    turns: new Map(),
    chainEnd,
    previousHash: chainEnd,
    skip: null,
    nextRunAt: undefined,
    mustFlush: false,
    removal: "none",
    writeFailed: false,
  };
  replayFrames(context);
  return context;
}

export type ContextMark = {
  book: number;
  tallies: TallyMark;
  workers: number;
  owners: number;
  notice: NoticeMark;
  frame: GroupMark;
  jobs: MemoryMark;
  turns: Map<string, number>;
  chainEnd: ChainEnd;
  skip: Context["skip"];
  mustFlush: boolean;
};

export function markContext(context: Context): ContextMark {
  return {
    book: context.book.mark(),
    tallies: context.tallies.mark(),
    workers: context.workers.mark(),
    owners: context.owners.mark(),
    notice: context.notice.mark(),
    frame: context.frame.mark(),
    jobs: context.jobs.mark(),
    turns: new Map(context.turns),
    chainEnd: context.chainEnd,
    skip: context.skip,
    mustFlush: context.mustFlush,
  };
}

/** Memory follows when an act is rolled back. */
export function rollBackContext(context: Context, mark: ContextMark): void {
  context.book.backTo(mark.book);
  context.tallies.backTo(mark.tallies);
  context.workers.backTo(mark.workers);
  context.owners.backTo(mark.owners);
  context.notice.backTo(mark.notice);
  context.frame.backTo(mark.frame);
  context.jobs.backTo(mark.jobs);
  context.turns.clear();
  for (const [tenantId, turn] of mark.turns) context.turns.set(tenantId, turn);
  context.chainEnd = mark.chainEnd;
  context.skip = mark.skip;
  context.mustFlush = mark.mustFlush;
  context.nextRunAt = undefined;
  context.windows.clear();
  context.names.forget();
  context.frames.clear();
}

/** Rows of more jobs than this are written with the group that exceeds it; that takes about 10 ms. */
const dirtyMax = 2_000;
/** And so are those of more frames than this, however few their jobs are. */
const unflushedMax = 1_000;

/** Appends the frame of the group, and writes rows if there are many to write, or if it is asked for. */
export function commitFrame(context: Context): void {
  const { sql, frame, jobs, tallies, turns, previousHash } = context;
  const isFlushed =
    context.mustFlush || jobs.dirtyCount >= dirtyMax || unflushedFrames(context) >= unflushedMax;
  const lastEvent = tallies.get("event_seq");
  frame.append(sql, { changes: isFlushed ? null : changesOf(context), lastEvent, previousHash });
  leaveOutNumbers(context);
  context.previousHash = context.chainEnd;
  jobs.closeGroup();
  turns.clear();
  if (isFlushed) flushRows(context);
}

/** The frames that a replay would read. Some of them may have changed no job. */
export function unflushedFrames({ frame, tallies }: Context): number {
  return frame.number - 1 - tallies.get("flushed_frame");
}

/** What a replay needs beside the lines. Rows that are written with the group need none. */
function changesOf({ frame, jobs, names, turns }: Context): Changes {
  const changed = jobs.touched().filter((entry) => !isAsSubmitted(entry, frame.number));
  return { rows: changed.map((entry) => rowOf(entry, names.numberOf)), turns: [...turns] };
}
