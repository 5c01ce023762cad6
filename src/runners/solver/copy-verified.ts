import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";

/** Every user may read and execute the copy. */
const programMode = 0o555;
const pieceBytes = 1024 * 1024;

/**
 * Copies a cached file, and hashes the very bytes that it writes: what is executed later is this copy, so a cached file
 * that is changed at the same time is either noticed or makes no difference. If the hash is not the expected one, or the
 * file is no plain file, the answer is `damaged` and there is no copy. Why: ADR 0043.
 */
export async function copyVerified(
  source: string,
  target: string,
  sha256: string,
): Promise<"copied" | "missing" | "damaged"> {
  const from = await openPlain(source);
  if (typeof from === "string") return from;
  try {
    const to = await open(target, "wx", programMode);
    try {
      const found = await copyBytes(from, to);
      if (found !== sha256) await unlink(target);
      // The mask of the process may have removed some of the bits.
      else await to.chmod(programMode);
      return found === sha256 ? "copied" : "damaged";
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function openPlain(path: string): Promise<FileHandle | "missing" | "damaged"> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    return "damaged";
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "missing";
    if (hasCode(error, "ELOOP", "ENXIO", "EACCES")) return "damaged";
    throw error;
  }
}

async function copyBytes(from: FileHandle, to: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(pieceBytes);
  for (;;) {
    const { bytesRead } = await from.read(buffer, 0, pieceBytes, null);
    if (bytesRead === 0) return hash.digest("hex");
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await to.writeFile(piece);
  }
}
