import type { Store } from "./store.ts";

export type ActName = Exclude<keyof Store, "onCommit" | "close">;

/**
 * Where a method is done. `write`: it changes something. `ordered`: it reads a few rows in turn with the writes, because
 * requests wait for it. `read`: it may take long, or is asked for often, and is done beside the writes on a connection of
 * its own. It shows everything that was answered before it was called, as all of them do. Why: ADR 0059.
 */
const actKinds = {
  submitJobs: "write",
  claimJobs: "write",
  changeJobs: "write",
  reapJobs: "write",
  promoteJobs: "write",
  graceLeases: "write",
  shiftTimes: "write",
  recallJobs: "write",
  raiseAttempts: "write",
  pruneReceiptSignatures: "write",
  pruneReceipts: "write",
  pruneJobs: "write",
  noteOutputs: "write",
  dropOutputs: "write",
  openUploads: "write",
  reserveUpload: "write",
  noteStoreUpload: "write",
  arriveObject: "write",
  dropObjects: "write",
  dropObject: "write",
  listExpired: "write",
  forgetObjects: "write",
  registerWorker: "write",
  heartbeatWorker: "write",
  setWorker: "write",
  blockWorker: "write",
  refuseClaim: "write",
  removeWorker: "write",
  retireSilentWorkers: "write",
  noteSignsOfLife: "write",
  saveWorkerMetrics: "write",
  createToken: "write",
  revokeToken: "write",
  createSession: "write",
  removeSession: "write",
  createLoginCode: "write",
  takeLoginCode: "write",
  putQuota: "write",
  setQueuePaused: "write",
  refreshToken: "write",
  recordEvents: "write",
  sealEvents: "write",
  saveAuditMark: "write",
  lockDown: "write",
  liftLockdown: "write",
  lockTenant: "write",
  liftTenant: "write",
  advanceLogReader: "write",
  finishMessage: "write",
  listWatched: "write",
  putOrder: "write",
  removeOrder: "write",
  fireOrders: "write",
  pruneEvents: "write",
  addStatistics: "write",
  skipEvents: "write",
  ping: "write",
  // It changes memory only.
  unparkClaim: "ordered",
  getDatabase: "ordered",
  getJob: "ordered",
  getOutputNotes: "ordered",
  getSmallOutput: "ordered",
  getObject: "ordered",
  findObject: "ordered",
  listUploads: "ordered",
  listJobObjects: "ordered",
  listObjectUsage: "read",
  getReceiptSignature: "read",
  getForgottenJob: "read",
  listJobs: "read",
  listJobIds: "read",
  countJobs: "read",
  getQueuePosition: "read",
  getWorker: "ordered",
  getWorkerOwner: "ordered",
  listWorkers: "read",
  listWorkerMetrics: "read",
  findToken: "ordered",
  listTokens: "read",
  findSession: "ordered",
  getQuota: "ordered",
  getSpending: "ordered",
  listQuotas: "ordered",
  listQueues: "read",
  surveyQueues: "read",
  listWaitingQueues: "read",
  readEvents: "read",
  eventRange: "ordered",
  readSealed: "read",
  searchAudit: "read",
  countEvents: "read",
  findAuditMark: "ordered",
  getLockdown: "ordered",
  listLockedTenants: "ordered",
  getLogReader: "ordered",
  nextMessage: "ordered",
  getOrder: "ordered",
  listDueOrders: "ordered",
  listOrders: "read",
  listOrdersAhead: "read",
  listOccurrences: "read",
  listLanes: "read",
  getLanes: "read",
  readStatistics: "read",
} as const satisfies Record<ActName, "write" | "ordered" | "read">;

export type ReadName = { [Name in ActName]: (typeof actKinds)[Name] extends "read" ? Name : never }[ActName];

export const actNames = Object.keys(actKinds) as ActName[];

export function isRead(name: ActName): name is ReadName {
  return actKinds[name] === "read";
}

/**
 * A ping writes only after a failed write, but it always asks for the lock, so a database that does not answer is
 * noticed.
 */
export function isWrite(name: ActName | "flushIndex"): boolean {
  return name === "flushIndex" || actKinds[name] === "write";
}
