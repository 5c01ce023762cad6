import type { ActName } from "../act-names.ts";
import type { Store } from "../store.ts";
import type { Act } from "./act.ts";
import { advanceLogReader, finishMessage, getLogReader, listWatched, nextMessage } from "./alert-acts.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";
import { getLanes, listLanes } from "./lane-acts.ts";
import {
  getLockdown,
  liftLockdown,
  liftTenant,
  listLockedTenants,
  lockDown,
  lockTenant,
} from "./lockdown-acts.ts";
import {
  fireOrders,
  getOrder,
  listDueOrders,
  listOccurrences,
  listOrders,
  listOrdersAhead,
  putOrder,
  removeOrder,
} from "./order-acts.ts";
import { putQuota, setQueuePaused } from "./queue-settings.ts";
import { createLoginCode, createSession, findSession, removeSession, takeLoginCode } from "./session-acts.ts";
import { getSpending } from "./spending-acts.ts";
import { createToken, findToken, listTokens, refreshToken, revokeToken } from "./token-acts.ts";
import { blockWorker, registerWorker, removeWorker, retireSilentWorkers, setWorker } from "./worker-acts.ts";
import { listWorkerMetrics, saveWorkerMetrics } from "./worker-metrics.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { getWorker, listWorkers } from "./worker-rows.ts";

type ColdActs<Driver> = {
  [Name in ActName]?: (
    driver: Driver,
    input: Parameters<Store[Name]>[0] & object,
  ) => Act<Awaited<ReturnType<Store[Name]>>>;
};

/** Acts that change something, written once for all drivers. Why: ADR 0111. */
const coldWrites = {
  registerWorker,
  setWorker,
  blockWorker,
  removeWorker,
  retireSilentWorkers,
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
  lockDown,
  liftLockdown,
  lockTenant,
  liftTenant,
  advanceLogReader,
  finishMessage,
  listWatched,
  putOrder,
  removeOrder,
  fireOrders,
} satisfies ColdActs<WriteDriver>;

/** Acts that only read. */
const coldReads = {
  getWorker,
  getWorkerOwner,
  listWorkers,
  listWorkerMetrics,
  findToken,
  listTokens,
  findSession,
  getLockdown,
  listLockedTenants,
  getLogReader,
  nextMessage,
  getOrder,
  listOrders,
  listDueOrders,
  listOrdersAhead,
  listOccurrences,
  getSpending,
  listLanes,
  getLanes,
} satisfies ColdActs<ReadDriver>;

export type ColdWrite = keyof typeof coldWrites;
export type ColdRead = keyof typeof coldReads;

export function isColdWrite(name: ActName): name is ColdWrite {
  return name in coldWrites;
}

export function isColdRead(name: ActName): name is ColdRead {
  return name in coldReads;
}

/** What the store was called with fits the act, because both have the same name in `Store`. */
export function coldWrite(driver: WriteDriver, name: ColdWrite, input: unknown): Act<unknown> {
  const act = coldWrites[name] as (driver: WriteDriver, input: unknown) => Act<unknown>;
  return act(driver, input);
}

export function coldRead(driver: ReadDriver, name: ColdRead, input: unknown): Act<unknown> {
  const act = coldReads[name] as (driver: ReadDriver, input: unknown) => Act<unknown>;
  return act(driver, input);
}
