import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, WritError } from "../../core/errors.ts";
import type { ArrivingBytes, ReceivedBytes } from "../objects.ts";
import type { Arrival } from "./arrivals.ts";
import { asObjectError } from "./object-error.ts";
import { readBytes } from "./read-bytes.ts";
import { syncDir } from "./sync-dir.ts";
import { largestPart, listParts, makeUploadFolder, partName } from "./upload-folder.ts";

/** Where bytes arrive: the folder of the upload, the name of this arrival, and whether a part is another one's. */
type ArrivalPlace = { folder: string; arrival: Arrival; isTaken: (name: string) => boolean };

/**
 * Writes bytes to a part of their own, or to one that an earlier request has left. When the last byte has arrived and the
 * hash is right, the file is synced and loses the ending of a part. What had arrived before the sender broke off stays; a
 * full disk gets its room back. Why: ADR 0093.
 */
export async function receiveFile(place: ArrivalPlace, upload: ArrivingBytes): Promise<ReceivedBytes> {
  const path = join(place.folder, partName(place.arrival.name));
  try {
    const handle = upload.offset === 0 ? await beginPart(place, path) : await takePart(place, path, upload);
    try {
      return await receive({ place, path, handle }, upload);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const isWorthless = hasCode(error, "ENOSPC", "EDQUOT", "CHECKSUM_MISMATCH", "INVALID_ARGUMENT");
    // The first error is the one to report; the next upload of the file replaces the bytes.
    if (isWorthless) await rm(path, { force: true }).catch(() => {});
    throw asObjectError(error, path);
  }
}

/** What earlier requests have left is given up, so that an upload that always breaks does not fill the disk. */
async function beginPart({ folder, isTaken }: ArrivalPlace, path: string): Promise<FileHandle> {
  await makeUploadFolder(folder);
  for (const { name } of await listParts(folder))
    if (!isTaken(name)) await rm(join(folder, partName(name)), { force: true });
  return open(path, writing | constants.O_CREAT | constants.O_EXCL, 0o600);
}

/** Renaming decides who has it, should somebody else want it too or remove it. */
async function takePart(
  { folder, isTaken }: ArrivalPlace,
  path: string,
  { offset }: ArrivingBytes,
): Promise<FileHandle> {
  const parts = await listParts(folder);
  const part = parts.find(({ name, size }) => size === offset && !isTaken(name));
  if (part === undefined) throw otherOffset(largestPart(parts), offset);
  try {
    await rename(join(folder, partName(part.name)), path);
  } catch (error) {
    throw hasCode(error, "ENOENT") ? otherOffset(largestPart(await listParts(folder)), offset) : error;
  }
  return open(path, writing);
}

const writing = constants.O_WRONLY | constants.O_NOFOLLOW;

function otherOffset(size: number, offset: number): WritError {
  const message = `${size} bytes have arrived; continue there, not at ${offset}`;
  return new WritError("UPLOAD_OFFSET", message, { size });
}

type OpenPart = { place: ArrivalPlace; path: string; handle: FileHandle };

async function receive({ place, path, handle }: OpenPart, upload: ArrivingBytes): Promise<ReceivedBytes> {
  const { folder, arrival } = place;
  const storedAs = arrival.name;
  // A hash cannot be continued in another request: a file that came in several is read once more at its end.
  const hash = upload.offset === 0 ? createHash("sha256") : null;
  const size = await writeAll(handle, { ...upload, hash }, arrival.signal);
  if (size < upload.total) return { storedAs, size, sha256: null };
  await handle.sync();
  const sha256 = hash?.digest("hex") ?? (await hashOf(path, size));
  if (upload.sha256 !== null && upload.sha256 !== sha256) {
    throw new WritError(
      "CHECKSUM_MISMATCH",
      `the bytes have the SHA-256 ${sha256}, not ${upload.sha256}; nothing of them was kept, send them again`,
    );
  }
  await rename(path, join(folder, storedAs));
  await syncDir(folder);
  return { storedAs, size, sha256 };
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

async function hashOf(path: string, size: number): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of readBytes(path, { start: 0, end: size })) hash.update(piece);
  return hash.digest("hex");
}
