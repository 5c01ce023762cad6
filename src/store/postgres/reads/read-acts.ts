// Acts that only read, and which of them need a transaction to see one moment. Why: ADR 0059, ADR 0111.
import type { ActName } from "../../act-names.ts";
import { type ColdRead, coldRead, isColdRead } from "../../acts/cold-acts.ts";
import type { Store } from "../../store.ts";
import { countEvents, findAuditMark, readSealed, searchAudit } from "../acts/audit-acts.ts";
import { driveAct, readDriver } from "../acts/drive-act.ts";
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
import { readStatistics } from "../acts/statistics-acts.ts";
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
  getQuota,
  listQuotas,
  readEvents,
  eventRange,
  readSealed,
  countEvents,
  findAuditMark,
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
} as const;

const severalStatements = new Set<string>([...Object.keys(oneMoment), "getWorkerOwner", "getLogReader"]);

const readActs = { ...oneStatement, ...oneMoment };

type OwnReadName = keyof typeof readActs;

export type ReadActName = OwnReadName | ColdRead;

type ReadActs = {
  [Name in OwnReadName]: (
    sql: Connection,
    input: Parameters<Store[Name]>[0] & object,
    context: ReadContext,
  ) => ReturnType<Store[Name]>;
};

export function isReadAct(name: ActName): name is ReadActName {
  return name in readActs || isColdRead(name);
}

/** All of these look up rows by indexes. The statistics of tables that fill and empty within seconds may say that none is needed. */
const beginText = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off";

export async function runRead(
  sql: Connection,
  { name, input }: { name: ReadActName; input: unknown },
  context: ReadContext,
): Promise<unknown> {
  if (!severalStatements.has(name)) return readOnce(sql, { name, input }, context);
  await sql.script(beginText);
  try {
    return await readOnce(sql, { name, input }, context);
  } finally {
    await sql.commit().catch(() => {});
  }
}

function readOnce(
  sql: Connection,
  { name, input }: { name: ReadActName; input: unknown },
  context: ReadContext,
): Promise<unknown> {
  if (isColdRead(name)) return driveAct(sql, coldRead(readDriver, name, input));
  const typed: ReadActs = readActs;
  const act = typed[name] as (sql: Connection, input: unknown, context: ReadContext) => Promise<unknown>;
  return act(sql, input, context);
}
