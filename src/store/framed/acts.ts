import { isActive } from "../../core/jobs/job.ts";
import type { ActName, ReadName } from "../act-names.ts";
import {
  type ColdRead,
  type ColdWrite,
  coldRead,
  coldWrite,
  isColdRead,
  isColdWrite,
} from "../acts/cold-acts.ts";
import { findAuditMark, saveAuditMark } from "../sqlite/acts/audit-acts.ts";
import { driveAct, readDriver } from "../sqlite/acts/drive-act.ts";
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
} from "../sqlite/acts/object-acts.ts";
import { getQuota, listQuotas, ping } from "../sqlite/acts/queue-acts.ts";
import { addStatistics } from "../sqlite/acts/statistics-acts.ts";
import { noteSignsOfLife } from "../sqlite/acts/worker-acts.ts";
import { unparkClaim } from "../sqlite/claims/hand-over.ts";
import { getDatabase } from "../sqlite/database/identity.ts";
import { pruneReceiptSignatures } from "../sqlite/log/receipt-signatures.ts";
import type { WireAct } from "../sqlite/thread/wire.ts";
import type { Store } from "../store.ts";
import { heartbeatWorker, refuseClaim } from "./acts/worker-acts.ts";
import { writeDriver } from "./acts/write-driver.ts";
import { claimJobs } from "./claims/claim-jobs.ts";
import { promoteJobs } from "./claims/promote-jobs.ts";
import { type Context, unflushedFrames } from "./context.ts";
import { changeJobs } from "./jobs/change-jobs.ts";
import { findById } from "./jobs/load-entry.ts";
import { dropOutputs, getOutputNotes, getSmallOutput, noteOutputs } from "./jobs/outputs.ts";
import { pruneJobs } from "./jobs/prune-jobs.ts";
import { graceLeases, raiseAttempts, reapJobs, recallJobs, shiftTimes } from "./jobs/reap-jobs.ts";
import { submitJobs } from "./jobs/submit-jobs.ts";
import { eventRange, pruneEvents, recordEvents, sealEvents, skipEvents } from "./log/event-log.ts";
import { pruneReceipts } from "./log/kept-receipts.ts";
import { getJob } from "./reads/get-job.ts";

type TurnName = Exclude<ActName, ReadName | ColdRead | ColdWrite>;
type Acts = {
  [Name in TurnName]: (
    context: Context,
    input: Parameters<Store[Name]>[0] & object,
  ) => Awaited<ReturnType<Store[Name]>>;
};

/** What is done in the writing thread, one after the other. */
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
  listExpired: (context, input) =>
    listExpired(context, input, (_, jobId, attempt) => {
      const job = findById(context, jobId)?.record;
      return job !== undefined && job.attempt === attempt && isActive(job.status);
    }),
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
