import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ByteReader } from "./byte-reader.ts";
import { refused } from "./passphrase-cipher.ts";

/** A file of a home, by its path there, and the source of its bytes. */
export type ArchivedFile = { path: string } & ({ file: string } | { content: Uint8Array });

const lineBytesMax = 4096;
const pieceBytes = 256 * 1024;

/** The parts of a home. Other files of a backup are never written into one. */
const parts = ["writ.sqlite", "writ.yaml", "jobctl.yaml", "admin.token", "audit-heads.ndjson"];
const folders = ["keys", "certs", "audit", "worker"];

/** Each file is a line with its name and size, followed by its bytes; the last line gives their number. */
export async function* packFiles(files: readonly ArchivedFile[]): AsyncGenerator<Uint8Array> {
  for (const entry of files) {
    if ("content" in entry) {
      yield lineOf({ path: entry.path, size: entry.content.length });
      yield entry.content;
    } else yield* packFile(entry);
  }
  yield lineOf({ files: files.length });
}

/** Packs only as many bytes as the file had when it was opened: a growing file would run into the next one. */
async function* packFile({ path, file }: { path: string; file: string }): AsyncGenerator<Uint8Array> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    yield lineOf({ path, size });
    for (let left = size; left > 0; ) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(left, pieceBytes)));
      if (bytesRead === 0) throw refused(`${file} was truncated while it was read; try again`);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function lineOf(fields: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(fields)}\n`);
}

/** Writes all files below `dir`, readable only by their owner, and returns their paths. */
export async function unpackFiles(source: AsyncIterable<Uint8Array>, dir: string): Promise<string[]> {
  const bytes = new ByteReader(source);
  const written: string[] = [];
  for (;;) {
    const line = readLine(await bytes.takeLine(lineBytesMax));
    if (line.files !== undefined) {
      if (line.files !== written.length || !(await bytes.isAtEnd())) throw refused("files are missing");
      return written;
    }
    const { path = "", size = -1 } = line;
    if (!isPartOfHome(path) || !Number.isSafeInteger(size) || size < 0) {
      throw refused("it contains a file that is not part of a home");
    }
    await unpackFile(bytes, join(dir, path), size);
    written.push(path);
  }
}

async function unpackFile(bytes: ByteReader, path: string, size: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await open(path, "wx", 0o600);
  try {
    await copy(bytes, handle, size);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function copy(bytes: ByteReader, handle: FileHandle, size: number): Promise<void> {
  for (let left = size; left > 0; ) {
    const piece = await bytes.takeSome(Math.min(left, pieceBytes));
    if (piece.length === 0) throw refused("it is cut off");
    await handle.writeFile(piece);
    left -= piece.length;
  }
}

function readLine(line: Uint8Array): { path?: string; size?: number; files?: number } {
  try {
    const value: unknown = JSON.parse(Buffer.from(line).toString("utf8"));
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Refused below.
  }
  throw refused("it is damaged");
}

export function isPartOfHome(path: unknown): boolean {
  if (typeof path !== "string") return false;
  if (parts.includes(path)) return true;
  const [folder = "", ...names] = path.split("/");
  return folders.includes(folder) && names.length > 0 && names.every(isPlainName);
}

function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9_@-][A-Za-z0-9._@-]{0,254}$/.test(name);
}
