// Acts of the thread that reads beside the writes. Why: ADR 0059.
import type { ReadName } from "../../act-names.ts";
import { type ColdRead, coldRead, isColdRead } from "../../acts/cold-acts.ts";
import type { Store } from "../../store.ts";
import { countEvents, readSealed, searchAudit } from "../acts/audit-acts.ts";
import { driveAct, readDriver } from "../acts/drive-act.ts";
import { listObjectUsage } from "../acts/object-acts.ts";
import { listQueues, listWaitingQueues, surveyQueues } from "../acts/queue-acts.ts";
import { readStatistics } from "../acts/statistics-acts.ts";
import { readEvents } from "../log/event-log.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import type { ReadContext } from "./read-context.ts";
import { getQueuePosition } from "./read-jobs.ts";

type ReadActs = {
  [Name in Exclude<ReadName, ColdRead>]: (
    context: ReadContext,
    input: Parameters<Store[Name]>[0] & object,
  ) => Awaited<ReturnType<Store[Name]>>;
};

const readActs: ReadActs = {
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

export function runReadAct(context: ReadContext, name: ReadName, input: unknown): unknown {
  if (isColdRead(name)) return driveAct(context.sql, coldRead(readDriver(context), name, input));
  const act = readActs[name] as (context: ReadContext, input: unknown) => unknown;
  return act(context, input);
}
