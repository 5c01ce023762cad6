import { framedDriver } from "../../src/store/framed/framed-driver.ts";
import { readActs } from "../../src/store/framed/reads/read-acts.ts";
import { flushedReads } from "../../src/store/framed/thread/flushed-reads.ts";
import type { SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import { ReadProxy } from "../../src/store/sqlite/thread/read-proxy.ts";
import { serve } from "../../src/store/sqlite/thread/serve.ts";
import { serveReads } from "../../src/store/sqlite/thread/serve-reads.ts";
import type { Store } from "../../src/store/store.ts";
import { connect } from "./sqlite-without-thread.ts";

/** The store of group frames with all of its sides in this thread. */
export async function openFramedWithoutThread({ path, macKey }: SqliteSettings): Promise<Store> {
  const settings = { path, macKey, busyTimeoutMs: 5_000, failpointModule: null };
  const writer = connect((port) => void serve(framedDriver, port, settings));
  const opened = await writer.opened;
  const reads = new ReadProxy(() =>
    connect((port) => void serveReads(readActs, port, { ...settings, ...opened })),
  );
  return writer.store(flushedReads(writer, reads));
}
