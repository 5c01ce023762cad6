import { createHash } from "node:crypto";
import type { ArrivingBytes, HubServed } from "../../../objects/objects.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import { otherBytes } from "./upload-ended.ts";

type SentAgain = Pick<ArrivingBytes, "offset" | "bytes"> & { end: number | null; total: number | null };

/**
 * Compares bytes with the file that the URL has completed before: a sender that did not get the answer sends them
 * again. They are not stored.
 */
export async function compareWithFile(
  { objects }: { objects: HubServed },
  { offset, bytes, ...call }: SentAgain,
  file: StoredObject,
): Promise<{ size: number; sha256: string | null }> {
  const size = file.size ?? 0;
  const end = call.end ?? size;
  if ((call.total ?? size) !== size) throw otherBytes(file);
  const sent = createHash("sha256");
  for await (const piece of bytes(new AbortController().signal)) sent.update(piece);
  const isWhole = offset === 0 && end === size;
  const expected = isWhole ? file.sha256 : await hashOf(objects.read(file, { start: offset, end }));
  if (sent.digest("hex") !== expected) throw otherBytes(file);
  return { size, sha256: file.sha256 };
}

async function hashOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
