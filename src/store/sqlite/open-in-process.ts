import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ShowJobs } from "../jobs/job-list.ts";
import type { Store } from "../store.ts";
import type { SqliteSettings } from "./open-store.ts";
import { readActs } from "./reads/read-acts.ts";
import { sqliteDriver } from "./sqlite-driver.ts";
import { flushedReads } from "./thread/flushed-reads.ts";
import { ReadProxy } from "./thread/read-proxy.ts";
import { serve } from "./thread/serve.ts";
import { serveReads } from "./thread/serve-reads.ts";
import { StoreProxy } from "./thread/store-proxy.ts";
import type { FromThread } from "./thread/wire.ts";

type InProcess = Pick<SqliteSettings, "path" | "macKey" | "busyTimeoutMs"> & { show?: ShowJobs };

/**
 * The store of a database file with all its sides in this thread, for a hub inside a test: to start threads takes longer than
 * most tests, and no other work waits while a slow disk is written. Why: ADR 0118.
 */
export async function openSqliteInProcess({
  path,
  macKey,
  busyTimeoutMs = 0,
  show,
}: InProcess): Promise<Store> {
  const settings = { path, macKey, busyTimeoutMs, failpointModule: null };
  const writer = connect((port) => void serve(sqliteDriver, port, settings));
  const opened = await writer.opened;
  const reads = new ReadProxy(() =>
    connect((port) => void serveReads(readActs, port, { ...settings, ...opened }, show)),
  );
  return writer.store(flushedReads(writer, reads));
}

/** The proxy of what serves at the other end of a channel. */
export function connect(serveAt: (port: MessagePort) => void): StoreProxy {
  const { port1, port2 } = new MessageChannel();
  const proxy = new StoreProxy((message) => port1.postMessage(message));
  port1.on("message", (message: FromThread) => proxy.receive(message));
  port1.on("close", () => proxy.end("the port is closed"));
  serveAt(port2);
  return proxy;
}
