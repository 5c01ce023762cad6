import { Worker } from "node:worker_threads";
import type { Store } from "../store.ts";
import { StoreProxy } from "./store-proxy.ts";
import type { FromThread, ThreadSettings } from "./wire.ts";

export type SqliteSettings = {
  path: string;
  /** 32 bytes that only the hub has; the key that seals documents at rest. */
  macKey: Buffer;
  /** How long to wait for another program that holds the database locked. */
  busyTimeoutMs?: number;
  /** Called after each transaction with the number of acts that shared it. */
  onTransaction?: (acts: number) => void;
  /** The URL of a module that exports `failpoint`; for tests only. */
  failpointModule?: string;
};

const busyTimeoutMsDefault = 5_000;

/** Opens the database in a thread of its own; the calls of one tick are sent there as one message. */
export async function openSqliteStore(settings: SqliteSettings): Promise<Store> {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), {
    workerData: {
      path: settings.path,
      macKey: settings.macKey,
      busyTimeoutMs: settings.busyTimeoutMs ?? busyTimeoutMsDefault,
      failpointModule: settings.failpointModule ?? null,
    } satisfies ThreadSettings,
  });
  const proxy = new StoreProxy((message) => worker.postMessage(message), settings.onTransaction);
  worker.on("message", (message: FromThread) => proxy.receive(message));
  worker.on("error", (error) => proxy.end(String(error)));
  worker.on("exit", () => proxy.end("the database thread has ended"));
  await proxy.opened;
  return proxy.store();
}
