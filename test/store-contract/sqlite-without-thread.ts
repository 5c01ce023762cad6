import { MessageChannel } from "node:worker_threads";
import type { SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import { serve } from "../../src/store/sqlite/serve.ts";
import { StoreProxy } from "../../src/store/sqlite/store-proxy.ts";
import type { FromThread } from "../../src/store/sqlite/wire.ts";
import type { Store } from "../../src/store/store.ts";

/** The SQLite store with both of its sides in this thread: to start a thread takes longer than most tests. */
export async function openWithoutThread({ path, macKey }: SqliteSettings): Promise<Store> {
  const { port1, port2 } = new MessageChannel();
  const proxy = new StoreProxy((message) => port1.postMessage(message));
  port1.on("message", (message: FromThread) => proxy.receive(message));
  port1.on("close", () => proxy.end("the port is closed"));
  await serve(port2, { path, macKey, busyTimeoutMs: 5_000, failpointModule: null });
  await proxy.opened;
  return proxy.store();
}
