import { openSqliteInProcess } from "../../src/store/sqlite/open-in-process.ts";
import type { SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import type { Store } from "../../src/store/store.ts";

const busyTimeoutMs = 5_000;

/** The SQLite store with all of its sides in this thread: to start a thread takes longer than most tests. */
export function openWithoutThread({ path, macKey }: SqliteSettings): Promise<Store> {
  return openSqliteInProcess({ path, macKey, busyTimeoutMs });
}
