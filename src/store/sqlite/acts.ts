import type { ActName, ReadName } from "../act-names.ts";
import type { Store } from "../store.ts";
import {
  advanceLogReader,
  finishMessage,
  getLogReader,
  listWatched,
  nextMessage,
} from "./acts/alert-acts.ts";
import { findAuditMark, saveAuditMark, sealEvents } from "./acts/audit-acts.ts";
import {
  getLockdown,
  liftLockdown,
  liftTenant,
  listLockedTenants,
  lockDown,
  lockTenant,
} from "./acts/lockdown-acts.ts";
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
import { dropOutputs, getOutputNotes, noteOutputs } from "./acts/output-acts.ts";
import { getQuota, listQuotas, ping, putQuota, setQueuePaused } from "./acts/queue-acts.ts";
import {
  createLoginCode,
  createSession,
  findSession,
  removeSession,
  takeLoginCode,
} from "./acts/session-acts.ts";
import { addStatistics } from "./acts/statistics-acts.ts";
import { createToken, findToken, refreshToken, revokeToken } from "./acts/token-acts.ts";
import {
  blockWorker,
  heartbeatWorker,
  noteSignsOfLife,
  registerWorker,
  removeWorker,
  retireSilentWorkers,
  setWorker,
} from "./acts/worker-acts.ts";
import { saveWorkerMetrics } from "./acts/worker-metrics.ts";
import { getWorkerOwner } from "./acts/worker-owner.ts";
import { getWorker } from "./acts/worker-row.ts";
import { claimJobs } from "./claims/claim-jobs.ts";
import { unparkClaim } from "./claims/hand-over.ts";
import { promoteJobs } from "./claims/promote-jobs.ts";
import { raiseAttempts, recallJobs } from "./claims/recall-jobs.ts";
import { refuseClaim } from "./claims/refuse-claim.ts";
import type { Context } from "./context.ts";
import { getDatabase } from "./database/identity.ts";
import { changeJobs } from "./jobs/change-jobs.ts";
import { pruneJobs } from "./jobs/prune-jobs.ts";
import { graceLeases, reapJobs } from "./jobs/reap-jobs.ts";
import { shiftTimes } from "./jobs/shift-times.ts";
import { getSmallOutput } from "./jobs/small-outputs.ts";
import { submitJobs } from "./jobs/submit-jobs.ts";
import { eventRange, pruneEvents, recordEvents } from "./log/event-log.ts";
import { pruneReceipts } from "./log/kept-receipts.ts";
import { pruneReceiptSignatures } from "./log/receipt-signatures.ts";
import { skipEvents } from "./log/skip-events.ts";
import { getJob } from "./reads/read-jobs.ts";

type TurnName = Exclude<ActName, ReadName>;
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
  listExpired,
  forgetObjects,
  registerWorker,
  heartbeatWorker,
  getWorker,
  getWorkerOwner,
  setWorker,
  blockWorker,
  refuseClaim,
  removeWorker,
  retireSilentWorkers,
  noteSignsOfLife,
  saveWorkerMetrics,
  createToken,
  findToken,
  revokeToken,
  refreshToken,
  createSession,
  findSession,
  removeSession,
  createLoginCode,
  takeLoginCode,
  getQuota,
  putQuota,
  listQuotas,
  setQueuePaused,
  recordEvents,
  eventRange,
  pruneEvents,
  sealEvents,
  saveAuditMark,
  findAuditMark,
  lockDown,
  getLockdown,
  liftLockdown,
  lockTenant,
  listLockedTenants,
  liftTenant,
  getLogReader,
  advanceLogReader,
  nextMessage,
  finishMessage,
  listWatched,
  addStatistics,
  skipEvents,
  getDatabase,
  ping,
};

export function runAct(context: Context, name: ActName, input: unknown): unknown {
  const act = acts[name as TurnName] as (context: Context, input: unknown) => unknown;
  return act(context, input);
}
