import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import { readActs } from "../../src/store/sqlite/reads/read-acts.ts";
import { sqliteDriver } from "../../src/store/sqlite/sqlite-driver.ts";
import { ReadProxy } from "../../src/store/sqlite/thread/read-proxy.ts";
import { serve } from "../../src/store/sqlite/thread/serve.ts";
import { serveReads } from "../../src/store/sqlite/thread/serve-reads.ts";
import { StoreProxy } from "../../src/store/sqlite/thread/store-proxy.ts";
import type { FromThread } from "../../src/store/sqlite/thread/wire.ts";
import type { Store } from "../../src/store/store.ts";

/** The SQLite store with all of its sides in this thread: to start a thread takes longer than most tests. */
export async function openWithoutThread({ path, macKey }: SqliteSettings): Promise<Store> {
  const settings = { path, macKey, busyTimeoutMs: 5_000, failpointModule: null };
  const writer = connect((port) => void serve(sqliteDriver, port, settings));
  const opened = await writer.opened;
  return writer.store(
    new ReadProxy(() => connect((port) => void serveReads(readActs, port, { ...settings, ...opened }))),
  );
}

export function connect(serveAt: (port: MessagePort) => void): StoreProxy {
  const { port1, port2 } = new MessageChannel();
  const proxy = new StoreProxy((message) => port1.postMessage(message));
  port1.on("message", (message: FromThread) => proxy.receive(message));
  port1.on("close", () => proxy.end("the port is closed"));
  serveAt(port2);
  return proxy;
}
