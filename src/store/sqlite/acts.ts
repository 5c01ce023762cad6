import type { ActName } from "../act-names.ts";
import type { Store } from "../store.ts";
import { advanceLogReader, finishMessage, getLogReader, listWatched, nextMessage } from "./alert-acts.ts";
import {
  countEvents,
  findAuditMark,
  readSealed,
  saveAuditMark,
  sealEvents,
  searchAudit,
} from "./audit-acts.ts";
import { changeJobs } from "./change-jobs.ts";
import { claimJobs } from "./claim-jobs.ts";
import type { Context } from "./context.ts";
import { eventRange, pruneEvents, readEvents, recordEvents } from "./event-log.ts";
import { getDatabase } from "./identity.ts";
import { getForgottenJob, pruneReceipts } from "./kept-receipts.ts";
import { countJobs, listJobIds, listJobs } from "./list-jobs.ts";
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
  listObjectUsage,
  listUploads,
  noteStoreUpload,
  openUploads,
  reserveUpload,
} from "./object-acts.ts";
import { dropOutputs, getOutputNotes, noteOutputs } from "./output-acts.ts";
import { promoteJobs } from "./promote-jobs.ts";
import { pruneJobs } from "./prune-jobs.ts";
import {
  getQuota,
  listQueues,
  listQuotas,
  ping,
  putQuota,
  setQueuePaused,
  surveyQueues,
} from "./queue-acts.ts";
import { getJob, getQueuePosition } from "./read-jobs.ts";
import { graceLeases, reapJobs } from "./reap-jobs.ts";
import { raiseAttempts, recallJobs } from "./recall-jobs.ts";
import { getReceiptSignature, pruneReceiptSignatures } from "./receipt-signatures.ts";
import { createLoginCode, createSession, findSession, removeSession, takeLoginCode } from "./session-acts.ts";
import { shiftTimes } from "./shift-times.ts";
import { skipEvents } from "./skip-events.ts";
import { addStatistics, readStatistics } from "./statistics-acts.ts";
import { submitJobs } from "./submit-jobs.ts";
import { createToken, findToken, listTokens, refreshToken, revokeToken } from "./token-acts.ts";
import {
  blockWorker,
  heartbeatWorker,
  registerWorker,
  removeWorker,
  retireSilentWorkers,
  setWorker,
} from "./worker-acts.ts";
import { listWorkerMetrics, saveWorkerMetrics } from "./worker-metrics.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { getWorker, listWorkers } from "./worker-row.ts";

type Acts = {
  [Name in ActName]: (
    context: Context,
    input: Parameters<Store[Name]>[0] & object,
  ) => Awaited<ReturnType<Store[Name]>>;
};

const acts: Acts = {
  submitJobs,
  claimJobs,
  changeJobs,
  reapJobs,
  promoteJobs,
  graceLeases,
  shiftTimes,
  recallJobs,
  raiseAttempts,
  getReceiptSignature,
  pruneReceiptSignatures,
  getForgottenJob,
  pruneReceipts,
  getJob,
  listJobs,
  listJobIds,
  countJobs,
  getQueuePosition,
  pruneJobs,
  noteOutputs,
  dropOutputs,
  getOutputNotes,
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
  listObjectUsage,
  registerWorker,
  heartbeatWorker,
  getWorker,
  listWorkers,
  getWorkerOwner,
  setWorker,
  blockWorker,
  removeWorker,
  retireSilentWorkers,
  saveWorkerMetrics,
  listWorkerMetrics,
  createToken,
  findToken,
  listTokens,
  revokeToken,
  refreshToken,
  createSession,
  findSession,
  removeSession,
  createLoginCode,
  takeLoginCode,
  getQuota,
  putQuota,
  listQueues,
  surveyQueues,
  listQuotas,
  setQueuePaused,
  recordEvents,
  readEvents,
  eventRange,
  pruneEvents,
  sealEvents,
  saveAuditMark,
  findAuditMark,
  readSealed,
  searchAudit,
  countEvents,
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
  readStatistics,
  skipEvents,
  getDatabase,
  ping,
};

export function runAct(context: Context, name: ActName, input: unknown): unknown {
  const act = acts[name] as (context: Context, input: unknown) => unknown;
  return act(context, input);
}
