import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { TransferFailure } from "./transfer-failure.ts";

/** Bytes that can be read from any place, again and again. */
export type FileSource = {
  readonly size: number;
  read(from: number, to: number): AsyncIterable<Uint8Array>;
};

const chunkBytes = 256 * 1024;

/** A file as it is now. Its opener closes it. */
export async function fileSource(file: FileHandle): Promise<FileSource> {
  const { size } = await file.stat();
  return {
    size,
    async *read(from, to) {
      for (let at = from; at < to; ) {
        const length = Math.min(chunkBytes, to - at);
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
        if (bytesRead === 0)
          throw new TransferFailure("changed", "the file became shorter while it was read");
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
  };
}

export function bytesSource(bytes: Uint8Array): FileSource {
  return {
    size: bytes.length,
    async *read(from, to) {
      yield bytes.subarray(from, to);
    },
  };
}

/** The SHA-256 of all of it, in hex. */
export async function hashOf(
  source: FileSource,
  signal: AbortSignal,
  onProgress?: (bytes: number) => void,
): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of source.read(0, source.size)) {
    signal.throwIfAborted();
    hash.update(chunk);
    bytes += chunk.length;
    onProgress?.(bytes);
  }
  return hash.digest("hex");
}
