import { handOver } from "../sqlite/claims/hand-over.ts";
import type { GroupDriver } from "../sqlite/thread/group-driver.ts";
import type { WireAct } from "../sqlite/thread/wire.ts";
import { runAct } from "./acts.ts";
import { leaseJobs } from "./claims/claim-jobs.ts";
import {
  type Context,
  type ContextMark,
  commitFrame,
  loadContext,
  markContext,
  rollBackContext,
  unflushedFrames,
} from "./context.ts";
import { truncateLog } from "./frames/truncate-log.ts";
import { migrate } from "./schema.ts";

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
export const framedDriver: GroupDriver<Context, ContextMark> = {
  form: "frames",
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
