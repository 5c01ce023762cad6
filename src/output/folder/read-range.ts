import { readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { WritError } from "../../core/errors.ts";
import { asOutputError } from "./output-error.ts";
import { shortPath } from "./output-path.ts";

// Measured: larger reads gain nothing, and smaller ones cost a call each.
export const chunkBytesDefault = 256 * 1024;

/** Yields exactly the bytes from `start` to before `endExclusive` of a file; fails if there are fewer. */
export async function* readRange(
  path: string,
  start: number,
  endExclusive: number,
  chunkBytes = chunkBytesDefault,
): AsyncGenerator<Buffer> {
  if (start >= endExclusive) return;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, "r");
    for (let position = start; position < endExclusive; ) {
      const length = Math.min(chunkBytes, endExclusive - position);
      const chunk = await readChunk(handle, position, Buffer.allocUnsafe(length));
      // The length was already promised to a client, so fewer bytes must be a visible failure.
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

/** Fills the buffer as far as the file goes; returns an empty one at the end of the file. */
export async function readChunk(handle: FileHandle, position: number, buffer: Buffer): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return filledPart(buffer, bytesRead);
}

/** The same at once, for bytes that were just written and are in the kernel's memory. */
export function readFreshChunk(handle: FileHandle, position: number, buffer: Buffer): Buffer {
  return filledPart(buffer, readSync(handle.fd, buffer, 0, buffer.length, position));
}

function filledPart(buffer: Buffer, bytesRead: number): Buffer {
  return bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
}
