import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { WritError } from "../../core/errors.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { ByteReader } from "./byte-reader.ts";

/**
 * A backup is one readable line of JSON, followed by chunks that only the passphrase decrypts. Each chunk is bound to
 * its position, to this line, and to whether it is the last one, so that nothing can be changed, moved, left out or cut
 * off unnoticed.
 */
type BackupHeader = {
  writ_backup: 1;
  created_at: number;
  /** The version of the program that made it. */
  version: string;
  salt: string;
  /** Doublings of scrypt's work. */
  cost: number;
  /** Distinguishes a wrong passphrase from a damaged file. */
  check: string;
};

type Key = { key: Buffer; check: string };

const chunkBytes = 1024 ** 2;
const headerBytesMax = 4096;
/** One byte that says whether it is the last chunk, and four bytes of length. */
const frameBytes = 5;
const tagBytes = 16;
/** 128 MB and half a second: little for one try, and much for guessing. */
const cost = 17;
/** A file that needs more than a gigabyte was not made by Writ. */
const costMax = 20;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

/** Encrypts a stream, preceded by a line that describes the file. Why: ADR 0018. */
export function sealWith(
  passphrase: string,
  facts: Pick<BackupHeader, "created_at" | "version">,
): (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array> {
  return async function* (source) {
    const salt = randomBytes(16);
    const { key, check } = await deriveKey(passphrase, salt, cost);
    const header: BackupHeader = { writ_backup: 1, ...facts, salt: salt.toString("base64"), cost, check };
    const line = Buffer.from(`${JSON.stringify(header)}\n`);
    yield line;
    const bytes = new ByteReader(source);
    for (let index = 0; ; index++) {
      const plain = await bytes.take(chunkBytes);
      const isLast = await bytes.isAtEnd();
      yield sealChunk(key, plain, { line, index, isLast });
      if (isLast) return;
    }
  };
}

/** Decrypts a stream. Nothing of a chunk is returned before the whole chunk was verified. */
export async function* openWith(
  passphrase: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteReader(source);
  const line = await bytes.takeLine(headerBytesMax);
  const header = readHeader(line);
  const { key, check } = await deriveKey(passphrase, Buffer.from(header.salt, "base64"), header.cost);
  if (check !== header.check) throw refused("the passphrase is wrong");
  for (let index = 0; ; index++) {
    const { isLast, sealed } = await takeFrame(bytes);
    yield openChunk(key, sealed, { line, index, isLast });
    if (!isLast) continue;
    if (!(await bytes.isAtEnd())) throw damaged();
    return;
  }
}

async function takeFrame(bytes: ByteReader): Promise<{ isLast: boolean; sealed: Uint8Array }> {
  const frame = Buffer.from(await takeAll(bytes, frameBytes));
  const size = frame.readUInt32BE(1);
  if (size > chunkBytes) throw damaged();
  return { isLast: frame[0] === 1, sealed: await takeAll(bytes, size + tagBytes) };
}

async function takeAll(bytes: ByteReader, count: number): Promise<Uint8Array> {
  const taken = await bytes.take(count);
  if (taken.length < count) throw refused("it is cut off");
  return taken;
}

type ChunkPosition = { line: Uint8Array; index: number; isLast: boolean };

function sealChunk(key: Buffer, plain: Uint8Array, position: ChunkPosition): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(position.index));
  cipher.setAAD(contextOf(position));
  const frame = Buffer.alloc(frameBytes);
  frame.writeUInt8(position.isLast ? 1 : 0);
  frame.writeUInt32BE(plain.length, 1);
  return Buffer.concat([frame, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function openChunk(key: Buffer, sealed: Uint8Array, position: ChunkPosition): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(position.index), { authTagLength: tagBytes });
  decipher.setAAD(contextOf(position));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  const plain = decipher.update(sealed.subarray(0, -tagBytes));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    throw damaged();
  }
}

/** A key belongs to one file, because its salt does, so a counter is as good as a random nonce. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(index), 4);
  return nonce;
}

function contextOf({ line, isLast }: ChunkPosition): Buffer {
  return Buffer.from(`${sha256Hex(line)} ${isLast ? "last" : "more"}`);
}

async function deriveKey(passphrase: string, salt: Buffer, doublings: number): Promise<Key> {
  const options = { N: 2 ** doublings, r: 8, p: 1, maxmem: 2 ** (doublings + 11) };
  // The same passphrase typed on another system may use other code points.
  const bytes = await derive(passphrase.normalize("NFKC"), salt, 64, options);
  return { key: bytes.subarray(0, 32), check: sha256Hex(bytes.subarray(32)) };
}

function readHeader(line: Uint8Array): BackupHeader {
  let header: Partial<BackupHeader> | null = null;
  try {
    header = JSON.parse(Buffer.from(line).toString("utf8")) as Partial<BackupHeader> | null;
  } catch {
    // Refused below.
  }
  const version: unknown = header?.writ_backup;
  if (typeof version === "number" && version > 1)
    throw refused("a newer version of Writ made it; use that version");
  if (version !== 1 || typeof header?.salt !== "string" || typeof header.check !== "string") {
    throw refused("it is not a backup of Writ");
  }
  const isCostFair = Number.isInteger(header.cost) && header.cost! >= 14 && header.cost! <= costMax;
  if (!isCostFair) throw damaged();
  return header as BackupHeader;
}

export function refused(why: string): WritError {
  return new WritError("CONFIG_INVALID", `the backup is refused: ${why}`);
}

function damaged(): WritError {
  return refused("it is damaged, or was tampered with");
}
