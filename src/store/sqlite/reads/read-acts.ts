// Why: ADR 0116.
import type { ReadName } from "../../act-names.ts";
import { type ColdRead, coldRead, isColdRead } from "../../acts/cold-acts.ts";
import type { Store } from "../../store.ts";
import { driveAct, readDriver } from "../acts/drive-act.ts";
import { listObjectUsage } from "../acts/object-acts.ts";
import { listQueues, listWaitingQueues, surveyQueues } from "../acts/queue-acts.ts";
import { readStatistics } from "../acts/statistics-acts.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import type { ReadActs } from "../thread/reader.ts";
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
