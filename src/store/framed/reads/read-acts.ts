import type { ReadName } from "../../act-names.ts";
import { type ColdRead, coldRead, isColdRead } from "../../acts/cold-acts.ts";
import { driveAct, readDriver } from "../../sqlite/acts/drive-act.ts";
import { listObjectUsage } from "../../sqlite/acts/object-acts.ts";
import { listQueues, listWaitingQueues, surveyQueues } from "../../sqlite/acts/queue-acts.ts";
import { readStatistics } from "../../sqlite/acts/statistics-acts.ts";
import { getReceiptSignature } from "../../sqlite/log/receipt-signatures.ts";
import type { ReadActs } from "../../sqlite/thread/reader.ts";
import type { Store } from "../../store.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { countEvents, readSealed, searchAudit } from "./audit-reads.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import { getQueuePosition } from "./queue-position.ts";
import { ReadContext } from "./read-context.ts";
import { readEvents } from "./read-events.ts";

type ActTable = {
  [Name in Exclude<ReadName, ColdRead>]: (
    context: ReadContext,
    input: Parameters<Store[Name]>[0] & object,
  ) => Awaited<ReturnType<Store[Name]>>;
};

const table: ActTable = {
  getReceiptSignature,
  getForgottenJob,
  listJobs,
  listJobIds,
  countJobs,
  getQueuePosition,
  listObjectUsage,
  listQueues,
  surveyQueues,
  listWaitingQueues,
  readEvents,
  readSealed,
  searchAudit,
  countEvents,
  readStatistics,
};

export const readActs: ReadActs<ReadContext> = {
  load: (sql, macKey) => new ReadContext(sql, macKey),
  run(context, name, input) {
    if (isColdRead(name)) return driveAct(context.sql, coldRead(readDriver(context), name, input));
    const act = table[name] as (context: ReadContext, input: unknown) => unknown;
    return act(context, input);
  },
};
