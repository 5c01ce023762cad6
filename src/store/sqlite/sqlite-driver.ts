import { runAct } from "./acts.ts";
import { leaseJobs } from "./claims/claim-jobs.ts";
import { handOver } from "./claims/hand-over.ts";
import {
  type Context,
  type ContextMark,
  commitFrame,
  loadContext,
  markContext,
  rollBackContext,
  unflushedFrames,
} from "./context.ts";
import { migrate } from "./database/migrate.ts";
import { truncateLog } from "./frames/truncate-log.ts";
import type { GroupDriver } from "./thread/group-driver.ts";
import type { WireAct } from "./thread/wire.ts";

/** They read rows, or change them by a statement; what a row names must be in a frame that is there already. */
const lookingAtRows = new Set<WireAct>([
  "reapJobs",
  "recallJobs",
  "promoteJobs",
  "graceLeases",
  "shiftTimes",
  "raiseAttempts",
  "pruneJobs",
]);

/** A frame for each group of acts; rows are an index that is written later. Why: ADR 0116. */
export const sqliteDriver: GroupDriver<Context, ContextMark> = {
  migrate,
  load: loadContext,
  runAct,
  mark: markContext,
  backTo: rollBackContext,
  needsOwnGroup: (act) => lookingAtRows.has(act),
  finishGroup(context) {
    handOver(context, { leaseJobs, mark: markContext, backTo: rollBackContext });
    commitFrame(context);
  },
  committed: truncateLog,
  isUnsettled: (context) => unflushedFrames(context) > 0 || context.removal !== "none",
};
