import type { ActName } from "../act-names.ts";
import type { Store } from "../store.ts";
import { advanceLogReader, finishMessage, listWatched } from "./alert-acts.ts";
import { saveAuditMark, sealEvents, skipEvents } from "./audit-acts.ts";
import { changeJobs } from "./change-jobs.ts";
import { claimJobs } from "./claim-jobs.ts";
import { pruneEvents, recordEvents } from "./event-log.ts";
import { pruneReceipts } from "./kept-receipts.ts";
import { liftLockdown, liftTenant, lockDown, lockTenant } from "./lockdown-acts.ts";
import {
  arriveObject,
  dropObject,
  dropObjects,
  forgetObjects,
  listExpired,
  noteStoreUpload,
  openUploads,
  reserveUpload,
} from "./object-acts.ts";
import { dropOutputs, noteOutputs } from "./output-acts.ts";
import { promoteJobs } from "./promote-jobs.ts";
import { pruneJobs } from "./prune-jobs.ts";
import { ping, putQuota, setQueuePaused } from "./queue-acts.ts";
import type { ReadActName } from "./read-acts.ts";
import { graceLeases, reapJobs } from "./reap-jobs.ts";
import { raiseAttempts, recallJobs } from "./recall-jobs.ts";
import { pruneReceiptSignatures } from "./receipt-signatures.ts";
import { refuseClaim } from "./refuse-claim.ts";
import { createLoginCode, createSession, removeSession, takeLoginCode } from "./session-acts.ts";
import { shiftTimes } from "./shift-times.ts";
import { addStatistics } from "./statistics-acts.ts";
import { submitJobs } from "./submit-jobs.ts";
import { createToken, refreshToken, revokeToken } from "./token-acts.ts";
import type { Transaction } from "./transaction.ts";
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

/** Acts that share a transaction with others of their kind. They begin it themselves, with what they read. */
export const groupActs = { submitJobs, claimJobs, changeJobs, heartbeatWorker, noteOutputs, recordEvents };

type SingleName = Exclude<ActName, ReadActName | keyof typeof groupActs | "unparkClaim">;
type SingleActs = {
  [Name in SingleName]: (
    tx: Transaction,
    input: Parameters<Store[Name]>[0] & object,
  ) => ReturnType<Store[Name]>;
};

/** Acts that have a transaction to themselves. */
const singleActs: SingleActs = {
  reapJobs,
  promoteJobs,
  graceLeases,
  shiftTimes,
  recallJobs,
  raiseAttempts,
  pruneReceiptSignatures,
  pruneReceipts,
  pruneJobs,
  dropOutputs,
  openUploads,
  reserveUpload,
  noteStoreUpload,
  arriveObject,
  dropObjects,
  dropObject,
  listExpired,
  forgetObjects,
  registerWorker,
  setWorker,
  blockWorker,
  refuseClaim,
  removeWorker,
  retireSilentWorkers,
  noteSignsOfLife,
  saveWorkerMetrics,
  createToken,
  revokeToken,
  refreshToken,
  createSession,
  removeSession,
  createLoginCode,
  takeLoginCode,
  putQuota,
  setQueuePaused,
  pruneEvents,
  sealEvents,
  saveAuditMark,
  lockDown,
  liftLockdown,
  lockTenant,
  liftTenant,
  advanceLogReader,
  finishMessage,
  listWatched,
  addStatistics,
  skipEvents,
  ping,
};

/**
 * Acts that a hub which has lost the lead must not do any more: another one has gone on from where it was, and would be set
 * back. Everything else that a leader does looks first whether it is still to be done, and may be done twice.
 */
export const leaderActs: ReadonlySet<ActName> = new Set(["advanceLogReader", "finishMessage"]);

export function runSingle(tx: Transaction, name: ActName, input: unknown): Promise<unknown> {
  const act = singleActs[name as SingleName] as (tx: Transaction, input: unknown) => Promise<unknown>;
  return act(tx, input);
}
