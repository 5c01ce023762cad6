import { MessageChannel, type MessagePort } from "node:worker_threads";
import { flushedReads } from "../framed/thread/flushed-reads.ts";
import type { ShowJobs } from "../jobs/job-list.ts";
import type { Store } from "../store.ts";
import { newFormDefault } from "./forms/file-form.ts";
import { loadReadActs } from "./forms/load-form.ts";
import type { SqliteSettings } from "./open-store.ts";
import { ReadProxy } from "./thread/read-proxy.ts";
import { serveFile } from "./thread/serve-file.ts";
import { serveReads } from "./thread/serve-reads.ts";
import { StoreProxy } from "./thread/store-proxy.ts";
import type { FromThread } from "./thread/wire.ts";

type InProcess = Pick<SqliteSettings, "path" | "macKey"> & { show: ShowJobs };

/**
 * The store of a database file with all its sides in this thread, for a hub inside a test: to start threads takes longer than
 * most tests, and nobody else waits while a slow disk is written. Why: ADR 0118.
 */
export async function openSqliteInProcess({ path, macKey, show }: InProcess): Promise<Store> {
  const settings = { path, macKey, busyTimeoutMs: 0, failpointModule: null };
  const writer = connect((port) => void serveFile(port, { ...settings, newForm: newFormDefault }));
  const { file, form } = await writer.opened;
  const acts = await loadReadActs(form);
  const reads = new ReadProxy(() =>
    connect((port) => void serveReads(acts, port, { ...settings, file, form }, show)),
  );
  return writer.store(form === "frames" ? flushedReads(writer, reads) : reads);
}

function connect(serveAt: (port: MessagePort) => void): StoreProxy {
  const { port1, port2 } = new MessageChannel();
  const proxy = new StoreProxy((message) => port1.postMessage(message));
  port1.on("message", (message: FromThread) => proxy.receive(message));
  port1.on("close", () => proxy.end("the port is closed"));
  serveAt(port2);
  return proxy;
}
