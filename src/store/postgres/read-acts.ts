import type { ActName } from "../act-names.ts";
import type { Store } from "../store.ts";
import { getLogReader, nextMessage } from "./alert-acts.ts";
import { countEvents, findAuditMark, readSealed, searchAudit } from "./audit-acts.ts";
import { compareDatabase } from "./compare-database.ts";
import type { Connection } from "./connection.ts";
import { eventRange, readEvents } from "./event-log.ts";
import { getForgottenJob } from "./kept-receipts.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
import { getLockdown, listLockedTenants } from "./lockdown-acts.ts";
import { findObject, getObject, listJobObjects, listObjectUsage, listUploads } from "./object-row.ts";
import { getOutputNotes } from "./output-acts.ts";
import {
  getQueuePosition,
  getQuota,
  listQueues,
  listQuotas,
  listWaitingQueues,
  surveyQueues,
} from "./queue-acts.ts";
import type { ReadContext } from "./read-context.ts";
import { getJob } from "./read-jobs.ts";
import { getReceiptSignature } from "./receipt-signatures.ts";
import { findSession } from "./session-acts.ts";
import { getSmallOutput } from "./small-outputs.ts";
import { readStatistics } from "./statistics-acts.ts";
import { findToken, listTokens } from "./token-acts.ts";
import { listWorkerMetrics } from "./worker-metrics.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { getWorker, listWorkers } from "./worker-row.ts";

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
