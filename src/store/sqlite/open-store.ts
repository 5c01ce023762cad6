import { Worker } from "node:worker_threads";
import type { Store } from "../store.ts";
import { flushedReads } from "./thread/flushed-reads.ts";
import { ReadProxy } from "./thread/read-proxy.ts";
import { StoreProxy } from "./thread/store-proxy.ts";
import type { FromThread, ReaderSettings, ThreadSettings } from "./thread/wire.ts";

export type SqliteSettings = {
  path: string;
  /** 32 bytes that only the hub has; the key that seals documents at rest. */
  macKey: Buffer;
  /** How long to wait for another program that holds the database locked. */
  busyTimeoutMs?: number;
  /** Called after each transaction with the number of acts that shared it. */
  onTransaction?: (acts: number) => void;
  /** The program of the thread that reads, if it can do more than read. */
  readerProgram?: URL;
  /** The URL of a module that exports `failpoint`; for tests only. */
  failpointModule?: string;
};

const busyTimeoutMsDefault = 5_000;

/**
 * Opens a database file in a thread of its own; the calls of one tick are sent there as one message. Reads are
 * done in a second thread, which is started when it is first needed. Why: ADR 0003, ADR 0059, ADR 0116.
 */
export async function openSqliteStore(settings: SqliteSettings): Promise<Store> {
  const { path, macKey, busyTimeoutMs = busyTimeoutMsDefault } = settings;
  const failpointModule = settings.failpointModule ?? null;
  const ofBoth: ThreadSettings = { path, macKey, busyTimeoutMs, failpointModule };
  const writer = startThread(new URL("./thread/thread.ts", import.meta.url), ofBoth, settings.onTransaction);
  const ofReader: ReaderSettings = { ...ofBoth, ...(await writer.opened) };
  const { readerProgram = new URL("./thread/reader-thread.ts", import.meta.url) } = settings;
  return writer.store(flushedReads(writer, new ReadProxy(() => startThread(readerProgram, ofReader))));
}

function startThread(
  program: URL,
  workerData: object,
  onTransaction?: SqliteSettings["onTransaction"],
): StoreProxy {
  const worker = new Worker(program, { workerData });
  const proxy = new StoreProxy((message) => worker.postMessage(message), onTransaction);
  worker.on("message", (message: FromThread) => proxy.receive(message));
  worker.on("error", (error) => proxy.end(String(error)));
  worker.on("exit", () => proxy.end("the database thread has ended"));
  return proxy;
}
