import type { ReadName } from "../act-names.ts";
import type { Store } from "../store.ts";
import { countEvents, readSealed, searchAudit } from "./audit-acts.ts";
import { readEvents } from "./event-log.ts";
import { getForgottenJob } from "./kept-receipts.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import { listObjectUsage } from "./object-acts.ts";
import { listQueues, listWaitingQueues, surveyQueues } from "./queue-acts.ts";
import type { ReadContext } from "./read-context.ts";
import { getQueuePosition } from "./read-jobs.ts";
import { getReceiptSignature } from "./receipt-signatures.ts";
import { readStatistics } from "./statistics-acts.ts";
import { listTokens } from "./token-acts.ts";
import { listWorkerMetrics } from "./worker-metrics.ts";
import { listWorkers } from "./worker-row.ts";

type ReadActs = {
  [Name in ReadName]: (
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
  listWorkers,
  listWorkerMetrics,
  listTokens,
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
  const act = readActs[name] as (context: ReadContext, input: unknown) => unknown;
  return act(context, input);
}
