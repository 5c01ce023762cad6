import type { ActName } from "../../act-names.ts";
import { type ColdWrite, coldWrite, isColdWrite } from "../../acts/cold-acts.ts";
import type { Store } from "../../store.ts";
import { saveAuditMark, sealEvents, skipEvents } from "../acts/audit-acts.ts";
import { driveAct, writeDriver } from "../acts/drive-act.ts";
import {
  arriveObject,
  dropObject,
  dropObjects,
  forgetObjects,
  listExpired,
  noteStoreUpload,
  openUploads,
  reserveUpload,
} from "../acts/object-acts.ts";
import { dropOutputs, noteOutputs } from "../acts/output-acts.ts";
import { ping } from "../acts/queue-acts.ts";
import { addStatistics } from "../acts/statistics-acts.ts";
import { heartbeatWorker, noteSignsOfLife } from "../acts/worker-acts.ts";
import { claimJobs } from "../claims/claim-jobs.ts";
import { promoteJobs } from "../claims/promote-jobs.ts";
import { raiseAttempts, recallJobs } from "../claims/recall-jobs.ts";
import { refuseClaim } from "../claims/refuse-claim.ts";
import { changeJobs } from "../jobs/change-jobs.ts";
import { pruneJobs } from "../jobs/prune-jobs.ts";
import { graceLeases, reapJobs } from "../jobs/reap-jobs.ts";
import { shiftTimes } from "../jobs/shift-times.ts";
import { submitJobs } from "../jobs/submit-jobs.ts";
import { pruneEvents, recordEvents } from "../log/event-log.ts";
import { pruneReceipts } from "../log/kept-receipts.ts";
import { pruneReceiptSignatures } from "../log/receipt-signatures.ts";
import type { ReadActName } from "../reads/read-acts.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Acts that share a transaction with others of their kind. They begin it themselves, with what they read.
 * Why: ADR 0080, ADR 0111.
 */
export const groupActs = { submitJobs, claimJobs, changeJobs, heartbeatWorker, noteOutputs, recordEvents };

type SingleName = Exclude<ActName, ReadActName | ColdWrite | keyof typeof groupActs | "unparkClaim">;
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
  refuseClaim,
  noteSignsOfLife,
  pruneEvents,
  sealEvents,
  saveAuditMark,
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
  if (isColdWrite(name)) return driveAct(tx.sql, coldWrite(writeDriver(tx), name, input));
  const act = singleActs[name as SingleName] as (tx: Transaction, input: unknown) => Promise<unknown>;
  return act(tx, input);
}
