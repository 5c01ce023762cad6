import type { ActName, ReadName } from "../act-names.ts";
import type { Store } from "../store.ts";
import { advanceLogReader, finishMessage, getLogReader, listWatched, nextMessage } from "./alert-acts.ts";
import { findAuditMark, saveAuditMark, sealEvents } from "./audit-acts.ts";
import { changeJobs } from "./change-jobs.ts";
import { claimJobs } from "./claim-jobs.ts";
import type { Context } from "./context.ts";
import { eventRange, pruneEvents, recordEvents } from "./event-log.ts";
import { unparkClaim } from "./hand-over.ts";
import { getDatabase } from "./identity.ts";
import { pruneReceipts } from "./kept-receipts.ts";
import {
  getLockdown,
  liftLockdown,
  liftTenant,
  listLockedTenants,
  lockDown,
  lockTenant,
} from "./lockdown-acts.ts";
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
} from "./object-acts.ts";
import { dropOutputs, getOutputNotes, noteOutputs } from "./output-acts.ts";
import { promoteJobs } from "./promote-jobs.ts";
import { pruneJobs } from "./prune-jobs.ts";
import { getQuota, listQuotas, ping, putQuota, setQueuePaused } from "./queue-acts.ts";
import { getJob } from "./read-jobs.ts";
import { graceLeases, reapJobs } from "./reap-jobs.ts";
import { raiseAttempts, recallJobs } from "./recall-jobs.ts";
import { pruneReceiptSignatures } from "./receipt-signatures.ts";
import { refuseClaim } from "./refuse-claim.ts";
import { createLoginCode, createSession, findSession, removeSession, takeLoginCode } from "./session-acts.ts";
import { shiftTimes } from "./shift-times.ts";
import { skipEvents } from "./skip-events.ts";
import { getSmallOutput } from "./small-outputs.ts";
import { addStatistics } from "./statistics-acts.ts";
import { submitJobs } from "./submit-jobs.ts";
import { createToken, findToken, refreshToken, revokeToken } from "./token-acts.ts";
import {
  blockWorker,
  heartbeatWorker,
  noteSignsOfLife,
  registerWorker,
  removeWorker,
  retireSilentWorkers,
  setWorker,
} from "./worker-acts.ts";
import { saveWorkerMetrics } from "./worker-metrics.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { getWorker } from "./worker-row.ts";

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
