import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, WritError } from "../../core/errors.ts";
import type { ArrivingBytes } from "../objects.ts";
import { asObjectError } from "./object-error.ts";
import { readBytes } from "./read-bytes.ts";
import { syncDir } from "./sync-dir.ts";

/**
 * Writes bytes to a file from an offset on. When the last one has arrived, the file is synced and its hash returned.
 * What had arrived before the sender broke off stays; a full disk gets its room back.
 */
export async function receiveFile(
  path: string,
  upload: ArrivingBytes,
  signal: AbortSignal,
): Promise<{ size: number; sha256: string | null }> {
  try {
    const handle = await openForWriting(path);
    try {
      return await receive({ path, handle }, upload, signal);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (hasCode(error, "ENOSPC", "EDQUOT")) await rm(path, { force: true }).catch(() => {});
    throw asObjectError(error, path);
  }
}

type OpenFile = { path: string; handle: FileHandle };

async function receive(
  { path, handle }: OpenFile,
  { offset, total, bytes }: ArrivingBytes,
  signal: AbortSignal,
): Promise<{ size: number; sha256: string | null }> {
  await goTo(handle, offset);
  // A hash cannot be continued in another request: a file that came in several is read once more at its end.
  const hash = offset === 0 ? createHash("sha256") : null;
  const size = await writeAll(handle, { offset, total, bytes, hash }, signal);
  if (size < total) return { size, sha256: null };
  await handle.sync();
  await syncDir(dirname(path));
  return { size, sha256: hash?.digest("hex") ?? (await hashOf(path, total)) };
}

async function goTo(handle: FileHandle, offset: number): Promise<void> {
  const { size } = await handle.stat();
  if (offset === 0) return handle.truncate(0);
  if (offset === size) return;
  throw new WritError("UPLOAD_OFFSET", `${size} bytes have arrived; continue there, not at ${offset}`, {
    size,
  });
}

/** The next piece is asked for only when the last one is written, so that a slow disk slows the sender down. */
async function writeAll(
  handle: FileHandle,
  { offset, total, bytes, hash }: ArrivingBytes & { hash: Hash | null },
  signal: AbortSignal,
): Promise<number> {
  let at = offset;
  for await (const piece of bytes(signal)) {
    if (at + piece.length > total)
      throw new WritError("INVALID_ARGUMENT", `the body has more than the ${total} bytes announced for it`);
    hash?.update(piece);
    for (let done = 0; done < piece.length; ) {
      const { bytesWritten } = await handle.write(piece, done, piece.length - done, at);
      done += bytesWritten;
      at += bytesWritten;
    }
  }
  return at;
}

async function openForWriting(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The folders above it: those of the storage folder, the tenant, and the root.
    for (let dir = dirname(dirname(path)), level = 0; level < 3; dir = dirname(dir), level++)
      await syncDir(dir);
    return open(path, flags, 0o600);
  }
}

async function hashOf(path: string, size: number): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of readBytes(path, { start: 0, end: size })) hash.update(piece);
  return hash.digest("hex");
}
