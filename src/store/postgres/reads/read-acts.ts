import type { ActName } from "../../act-names.ts";
import type { Store } from "../../store.ts";
import { getLogReader, nextMessage } from "../acts/alert-acts.ts";
import { countEvents, findAuditMark, readSealed, searchAudit } from "../acts/audit-acts.ts";
import { getLockdown, listLockedTenants } from "../acts/lockdown-acts.ts";
import { findObject, getObject, listJobObjects, listObjectUsage, listUploads } from "../acts/object-row.ts";
import { getOutputNotes } from "../acts/output-acts.ts";
import {
  getQueuePosition,
  getQuota,
  listQueues,
  listQuotas,
  listWaitingQueues,
  surveyQueues,
} from "../acts/queue-acts.ts";
import { findSession } from "../acts/session-acts.ts";
import { readStatistics } from "../acts/statistics-acts.ts";
import { findToken, listTokens } from "../acts/token-acts.ts";
import { listWorkerMetrics } from "../acts/worker-metrics.ts";
import { getWorkerOwner } from "../acts/worker-owner.ts";
import { getWorker, listWorkers } from "../acts/worker-row.ts";
import type { Connection } from "../connection/connection.ts";
import { compareDatabase } from "../database/compare-database.ts";
import { getSmallOutput } from "../jobs/small-outputs.ts";
import { eventRange, readEvents } from "../log/event-log.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import type { ReadContext } from "./read-context.ts";
import { getJob } from "./read-jobs.ts";

/** What is answered by one statement, which sees one moment. */
const oneStatement = {
  getJob,
  getSmallOutput,
  getOutputNotes,
  getObject,
  findObject,
  listUploads,
  listJobObjects,
  listObjectUsage,
  getReceiptSignature,
  getForgottenJob,
  getWorker,
  listWorkers,
  listWorkerMetrics,
  findToken,
  listTokens,
  getQuota,
  listQuotas,
  readEvents,
  eventRange,
  readSealed,
  countEvents,
  findAuditMark,
  getLockdown,
  listLockedTenants,
  getLogReader,
  nextMessage,
  readStatistics,
  // Asked for every second: so it is noticed too if an older state is loaded while connections stay open.
  getDatabase: (sql: Connection, _: unknown, { inUse }: ReadContext) => compareDatabase(sql, inUse),
} as const;

/** What takes several statements, all of which have to see the same moment. */
const oneMoment = {
  listJobs,
  listJobIds,
  countJobs,
  getQueuePosition,
  surveyQueues,
  listQueues,
  listWaitingQueues,
  searchAudit,
  findSession,
  getWorkerOwner,
} as const;

const readActs = { ...oneStatement, ...oneMoment };

export type ReadActName = keyof typeof readActs;

type ReadActs = {
  [Name in ReadActName]: (
    sql: Connection,
    input: Parameters<Store[Name]>[0] & object,
    context: ReadContext,
  ) => ReturnType<Store[Name]>;
};

export function isReadAct(name: ActName): name is ReadActName {
  return name in readActs;
}

/** All of these look up rows by indexes. The statistics of tables that fill and empty within seconds may say that none is needed. */
const beginText = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off";

export async function runRead(
  sql: Connection,
  { name, input }: { name: ReadActName; input: unknown },
  context: ReadContext,
): Promise<unknown> {
  const typed: ReadActs = readActs;
  const act = typed[name] as (sql: Connection, input: unknown, context: ReadContext) => Promise<unknown>;
  if (!(name in oneMoment)) return act(sql, input, context);
  await sql.script(beginText);
  try {
    return await act(sql, input, context);
  } finally {
    await sql.commit().catch(() => {});
  }
}
