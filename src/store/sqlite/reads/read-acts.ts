import type { ReadName } from "../../act-names.ts";
import type { Store } from "../../store.ts";
import { countEvents, readSealed, searchAudit } from "../acts/audit-acts.ts";
import { listObjectUsage } from "../acts/object-acts.ts";
import { listQueues, listWaitingQueues, surveyQueues } from "../acts/queue-acts.ts";
import { readStatistics } from "../acts/statistics-acts.ts";
import { listTokens } from "../acts/token-acts.ts";
import { listWorkerMetrics } from "../acts/worker-metrics.ts";
import { listWorkers } from "../acts/worker-row.ts";
import { readEvents } from "../log/event-log.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import type { ReadContext } from "./read-context.ts";
import { getQueuePosition } from "./read-jobs.ts";

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
