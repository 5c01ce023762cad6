import { fstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { hasCode, WritError } from "../../core/errors.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import { type EndSignal, watchEnd } from "../watch-end.ts";
import { GrowthWatch } from "./growth-watch.ts";
import { asOutputError } from "./output-error.ts";
import { shortPath } from "./output-path.ts";
import { chunkBytesDefault, readChunk, readFreshChunk } from "./read-range.ts";

type FollowFileOptions = {
  path: string;
  offset: number;
  /** The largest piece that is yielded; 256 KiB by default. */
  chunkBytes?: number;
  /**
   * All pieces are read into one buffer, so each is valid only until the next is requested. Without this, the garbage
   * collector keeps tens of megabytes of such pieces before it frees them.
   */
  reusesBuffer?: boolean;
  /** The file was made a moment ago, so what it contains is still in memory. */
  isFresh?: boolean;
  /** Tells that nothing more will be written: a promise that is requested once, or a signal. */
  ended: EndSignal;
  /** Ends the following from outside with the signal's reason; the only way to end it while it waits for growth. */
  signal?: AbortSignal | undefined;
};

/**
 * Yields the bytes of a file from `offset` on, and then what is added, until the output has ended and everything is
 * read. At most one read is in flight, and none while the consumer is busy, so a slow reader costs no memory.
 * Why: ADR 0074.
 */
export async function* followFile(options: FollowFileOptions): AsyncGenerator<Buffer> {
  const { path, signal } = options;
  const wakeUp = new WakeUp();
  const growth = new GrowthWatch(path, wakeUp.wake);
  const end = watchEnd(options.ended, wakeUp.wake);
  let handle: FileHandle | undefined;
  let position = options.offset;
  let { isFresh = false } = options;
  const chunkBytes = options.chunkBytes ?? chunkBytesDefault;
  const bufferFor = options.reusesBuffer ? reusedBuffer(chunkBytes) : Buffer.allocUnsafe;
  try {
    while (true) {
      signal?.throwIfAborted();
      // The order matters: first start watching, then note whether the output has ended, then look at the size. Any
      // other order can miss the last bytes or wait for ever.
      wakeUp.clear();
      const isFileThere = growth.arm();
      const isOver = end.isOver();
      handle ??= isFileThere ? await openIfThere(path) : undefined;
      if (handle !== undefined) {
        const { size, nlink } = isFresh ? fstatSync(handle.fd) : await handle.stat();
        while (position < size) {
          const length = Math.min(size - position, chunkBytes);
          const buffer = bufferFor(length);
          const isInMemory = isFresh && length <= freshBytesMax;
          const chunk = isInMemory
            ? readFreshChunk(handle, position, buffer)
            : await readChunk(handle, position, buffer);
          // The file was cut back after a failed append; the same bytes will arrive again at the same offset.
          if (chunk.length === 0) break;
          position += chunk.length;
          yield chunk;
          signal?.throwIfAborted();
        }
        if (nlink === 0 && !isOver)
          throw new WritError("OUTPUT_UNAVAILABLE", `output ${shortPath(path)} was removed`);
      }
      if (isOver) return;
      await wakeUp.wait({ signal });
      isFresh = true;
    }
  } catch (error) {
    throw asOutputError(error, path);
  } finally {
    end.close();
    growth.close();
    await handle?.close();
  }
}

/** Each look at the file through the thread pool takes as long as reading this much of what was just written. */
const freshBytesMax = 32 * 1024;

/** Nothing is allocated before there are bytes, because most streams stay empty and most others are short. */
function reusedBuffer(bytesMax: number): (length: number) => Buffer {
  let buffer: Buffer | undefined;
  return (length) => {
    if (buffer === undefined) buffer = Buffer.allocUnsafe(length);
    else if (buffer.length < length) buffer = Buffer.allocUnsafe(bytesMax);
    return buffer.subarray(0, length);
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
