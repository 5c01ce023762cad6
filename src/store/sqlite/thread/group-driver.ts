import type { NoticeBuilder } from "../../jobs/notice-builder.ts";
import type { Tallies } from "../counts/tallies.ts";
import type { Connection } from "../database/connection.ts";
import type { Unreadable } from "../frames/unreadable.ts";
import type { Failpoint } from "./failpoint.ts";
import type { WireAct } from "./wire.ts";

/** What the thread needs of what a driver keeps in memory. */
export type GroupContext = {
  readonly sql: Connection;
  readonly tallies: Tallies;
  readonly notice: NoticeBuilder;
  /** True after a failed commit: the next ping tries a write. */
  writeFailed: boolean;
};

/** A store in one SQLite file, as the thread that commits groups of acts sees it. Why: ADR 0116. */
export type GroupDriver<Context extends GroupContext, Mark = unknown> = {
  /** Brings the schema up to date and returns its version. */
  migrate(sql: Connection, failpoint: Failpoint): number;
  /** Reads what memory holds of the file. */
  load(sql: Connection, macKey: Buffer, unreadable: Unreadable): Context;
  runAct(context: Context, act: WireAct, input: unknown): unknown;
  /** Where memory is now, so that an act can be undone. */
  mark(context: Context): Mark;
  backTo(context: Context, mark: Mark): void;
  /** Whether nothing else may be done in the group of this act; what a row names must be in a frame that is there. */
  needsOwnGroup(act: WireAct): boolean;
  /** After the acts of a group and before its commit. */
  finishGroup(context: Context): void;
  /** After the commit of a group, outside of a transaction. */
  committed(context: Context): void;
  /** Whether something is to be written a moment after the last call. */
  isUnsettled(context: Context): boolean;
};
