import { type FSWatcher, watch } from "node:fs";
import { open } from "node:fs/promises";

const chunkBytes = 64 * 1024;

/** Yields what is in a file and what is added to it, until `ended` has come and all is read. It must exist. */
export async function* followFile(path: string, ended: Promise<unknown>): AsyncGenerator<Buffer> {
  let isOver = false;
  let wake = (): void => {};
  let watcher: FSWatcher | undefined;
  const file = await open(path, "r");
  try {
    watcher = watch(path, () => wake());
    void ended.then(() => {
      isOver = true;
      wake();
    });
    for (let position = 0; ; ) {
      // The order matters: who notes the end before looking at the file cannot miss its last bytes.
      const grown = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const wasOver = isOver;
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
      position += bytesRead;
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      else if (wasOver) return;
      else await grown;
    }
  } finally {
    watcher?.close();
    await file.close();
  }
}
