import type { ActName, ReadName } from "../act-names.ts";
import {
  type ColdRead,
  type ColdWrite,
  coldRead,
  coldWrite,
  isColdRead,
  isColdWrite,
} from "../acts/cold-acts.ts";
import type { Store } from "../store.ts";
import { findAuditMark, saveAuditMark } from "./acts/audit-acts.ts";
import { driveAct, readDriver } from "./acts/drive-act.ts";
import {
  arriveObject,
  dropObject,
  dropObjects,
  findObject,
  forgetObjects,
  getObject,
  listExpired,
  listJobObjects,
  listUploads,
  noteStoreUpload,
  openUploads,
  reserveUpload,
} from "./acts/object-acts.ts";
import { dropOutputs, getOutputNotes, getSmallOutput, noteOutputs } from "./acts/output-acts.ts";
import { getQuota, listQuotas, ping } from "./acts/queue-acts.ts";
import { addStatistics } from "./acts/statistics-acts.ts";
import { heartbeatWorker, noteSignsOfLife, refuseClaim } from "./acts/worker-acts.ts";
import { writeDriver } from "./acts/write-driver.ts";
import { claimJobs } from "./claims/claim-jobs.ts";
import { unparkClaim } from "./claims/hand-over.ts";
import { promoteJobs } from "./claims/promote-jobs.ts";
import { type Context, unflushedFrames } from "./context.ts";
import { getDatabase } from "./database/identity.ts";
import { changeJobs } from "./jobs/change-jobs.ts";
import { pruneJobs } from "./jobs/prune-jobs.ts";
import { graceLeases, raiseAttempts, reapJobs, recallJobs, shiftTimes } from "./jobs/reap-jobs.ts";
import { submitJobs } from "./jobs/submit-jobs.ts";
import { eventRange, pruneEvents, recordEvents, sealEvents, skipEvents } from "./log/event-log.ts";
import { pruneReceipts } from "./log/kept-receipts.ts";
import { pruneReceiptSignatures } from "./log/receipt-signatures.ts";
import { getJob } from "./reads/get-job.ts";
import type { WireAct } from "./thread/wire.ts";

type TurnName = Exclude<ActName, ReadName | ColdRead | ColdWrite>;
type Acts = {
  [Name in TurnName]: (
    context: Context,
    input: Parameters<Store[Name]>[0] & object,
  ) => Awaited<ReturnType<Store[Name]>>;
};

/** What is done in the writing thread, one after the other. Why: ADR 0003, ADR 0111. */
const acts: Acts = {
  submitJobs,
  claimJobs,
  unparkClaim,
  changeJobs,
  reapJobs,
  promoteJobs,
  graceLeases,
  shiftTimes,
  recallJobs,
  raiseAttempts,
  pruneReceiptSignatures,
  pruneReceipts,
  getJob,
  pruneJobs,
  noteOutputs,
  dropOutputs,
  getOutputNotes,
  getSmallOutput,
  openUploads,
  reserveUpload,
  noteStoreUpload,
  arriveObject,
  getObject,
  findObject,
  listUploads,
  listJobObjects,
  dropObjects,
  dropObject,
  listExpired,
  forgetObjects,
  heartbeatWorker,
  refuseClaim,
  noteSignsOfLife,
  getQuota,
  listQuotas,
  recordEvents,
  eventRange,
  pruneEvents,
  sealEvents,
  saveAuditMark,
  findAuditMark,
  addStatistics,
  skipEvents,
  getDatabase,
  ping,
};

export function runAct(context: Context, name: WireAct, input: unknown): unknown {
  if (name === "flushIndex") {
    context.mustFlush ||= unflushedFrames(context) > 0;
    if (context.removal === "some") context.removal = "due";
    return null;
  }
  if (isColdWrite(name)) return driveAct(context.sql, coldWrite(writeDriver(context), name, input));
  if (isColdRead(name)) return driveAct(context.sql, coldRead(readDriver(context), name, input));
  const act = acts[name as TurnName] as (context: Context, input: unknown) => unknown;
  return act(context, input);
}
