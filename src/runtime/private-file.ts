import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { WritError } from "../core/errors.ts";

// Keys, tokens and settings are small; whatever is larger was put there by mistake.
const FILE_BYTES_MAX = 1024 * 1024;
const OTHERS_BITS = 0o077;

/**
 * Writes a file that only its owner can read. Readers see the old or the new content, never a part, and
 * the new one survives a power failure once this returns.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** The text of a private file, or null when there is none. Refuses a file that others can reach. */
export async function readPrivateFile(path: string): Promise<string | null> {
  return readSmallFile(path, { mustBePrivate: true });
}

/** As `readPrivateFile`; what may be public is read with `mustBePrivate: false`. */
export async function readSmallFile(path: string, rules: { mustBePrivate: boolean }): Promise<string | null> {
  const handle = await openForReading(path);
  if (handle === null) return null;
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new WritError("CONFIG_INVALID", `${path} is not a regular file`);
    if (rules.mustBePrivate) refuseOthers(path, stat.mode);
    if (stat.size > FILE_BYTES_MAX) {
      throw new WritError(
        "CONFIG_INVALID",
        `${path} has ${stat.size} bytes; at most ${FILE_BYTES_MAX} are allowed`,
      );
    }
    return decodeUtf8(path, await handle.readFile());
  } finally {
    await handle.close();
  }
}

async function openForReading(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new WritError("CONFIG_INVALID", `${path} cannot be read: ${code}`);
  }
}

function refuseOthers(path: string, mode: number): void {
  if ((mode & OTHERS_BITS) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new WritError(
    "CONFIG_INVALID",
    `${path} has mode ${found} and others can reach it; run: chmod 600 ${path}`,
  );
}

function decodeUtf8(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new WritError("CONFIG_INVALID", `${path} is not UTF-8 text`);
  }
}

/** A rename is durable only when the directory that holds the name is. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
