import type { ActName } from "../act-names.ts";
import { runAct } from "./acts.ts";
import { leaseJobs } from "./claims/claim-jobs.ts";
import { handOver } from "./claims/hand-over.ts";
import { type Context, createContext, flushContext, markContext, rollBackContext } from "./context.ts";
import { migrate } from "./database/migrate.ts";
import type { GroupDriver } from "./thread/group-driver.ts";

/** A row for each job, document and event. Why: ADR 0116. */
export const sqliteDriver: GroupDriver<Context, ReturnType<typeof markContext>> = {
  form: "rows",
  migrate,
  load: createContext,
  // It keeps nothing back, so nobody asks it for `flushIndex`.
  runAct: (context, act, input) => runAct(context, act as ActName, input),
  mark: markContext,
  backTo: rollBackContext,
  finishGroup(context) {
    handOver(context, { leaseJobs, mark: markContext, backTo: rollBackContext });
    flushContext(context);
  },
};
