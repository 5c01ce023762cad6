import type { Store } from "./store.ts";

export type ActName = Exclude<keyof Store, "onCommit" | "close">;

/** Which methods change something. The proxy needs only these names; the acts are in the thread. */
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
  registerWorker: "write",
  heartbeatWorker: "write",
  setWorker: "write",
  blockWorker: "write",
  removeWorker: "write",
  retireSilentWorkers: "write",
  saveWorkerMetrics: "write",
  createToken: "write",
  revokeToken: "write",
  createSession: "write",
  removeSession: "write",
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
  pruneEvents: "write",
  skipEvents: "write",
  ping: "write",
  getDatabase: "read",
  getJob: "read",
  getOutputNotes: "read",
  getReceiptSignature: "read",
  getForgottenJob: "read",
  listJobs: "read",
  listJobIds: "read",
  countJobs: "read",
  getQueuePosition: "read",
  getWorker: "read",
  getWorkerOwner: "read",
  listWorkers: "read",
  listWorkerMetrics: "read",
  findToken: "read",
  listTokens: "read",
  findSession: "read",
  getQuota: "read",
  listQuotas: "read",
  listQueues: "read",
  surveyQueues: "read",
  readEvents: "read",
  eventRange: "read",
  readSealed: "read",
  searchAudit: "read",
  countEvents: "read",
  findAuditMark: "read",
  getLockdown: "read",
  listLockedTenants: "read",
  getLogReader: "read",
  nextMessage: "read",
} as const satisfies Record<ActName, "read" | "write">;

export const actNames = Object.keys(actKinds) as ActName[];

/**
 * A ping writes only after a failed write, but it always asks for the lock, so a database that does not answer is
 * noticed.
 */
export function isWrite(name: ActName): boolean {
  return actKinds[name] === "write";
}
