import { type FileHandle, open } from "node:fs/promises";
import { WritError } from "../core/errors.ts";
import { asOutputError } from "./output-log.ts";
import { shortPath } from "./output-path.ts";

// Measured: larger reads gain nothing, smaller ones cost a call each.
export const CHUNK_BYTES = 256 * 1024;

/** Yields exactly the bytes from `start` to before `endExclusive` of an output that grows no more. */
export async function* readRange(
  path: string,
  start: number,
  endExclusive: number,
  chunkBytes = CHUNK_BYTES,
): AsyncGenerator<Buffer> {
  if (start >= endExclusive) return;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, "r");
    for (let position = start; position < endExclusive; ) {
      const chunk = await readChunk(handle, position, Math.min(chunkBytes, endExclusive - position));
      // The length was promised to a client already; fewer bytes must be seen as a failure.
      if (chunk.length === 0)
        throw new WritError("OUTPUT_UNAVAILABLE", `output ${shortPath(path)} ends at byte ${position}`);
      position += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw asOutputError(error, path);
  } finally {
    await handle?.close();
  }
}

/** Reads at most `length` bytes into the buffer, else into one that belongs to the caller; empty at the file's end. */
export async function readChunk(
  handle: FileHandle,
  position: number,
  length: number,
  buffer = Buffer.allocUnsafe(length),
): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
}
