// Uploads in parts: how one begins, which parts have arrived, and how they are joined. Why: ADR 0054.
import { WritError } from "../../core/errors.ts";
import { fieldOf, type S3Calls, unavailable } from "./s3-calls.ts";

/** What the store has of an upload, by the number of the part. */
type KnownParts = Map<number, { etag: string; size: number }>;

/** A store lists at most 1,000 parts at a time, and no upload has more than 10,000. */
const pagesMax = 11;

/** Begins an upload in parts, and gives the store's own name for it. */
export async function beginParts(calls: S3Calls, key: string): Promise<string> {
  const answer = await calls.must({ method: "POST", key, query: { uploads: "" } });
  const id = fieldOf(await answer.text(), "UploadId");
  if (id === undefined) throw unavailable({ method: "POST", key }, "the answer has no UploadId");
  return id;
}

/**
 * The parts that have arrived. Null if the store knows of no such upload: it was joined, or the store has removed it. A
 * store that cannot list them, or does not allow it, has none that anybody could rely on, and they are put again.
 */
export async function listParts(calls: S3Calls, key: string, uploadId: string): Promise<KnownParts | null> {
  const known: KnownParts = new Map();
  let marker = "";
  for (let page = 0; page < pagesMax; page++) {
    const query = { uploadId, ...(marker === "" ? {} : { "part-number-marker": marker }) };
    const answer = await calls.call({ method: "GET", key, query });
    const text = await answer.text();
    if (answer.status === 404) return null;
    if (!answer.ok) return new Map();
    for (const [, part = ""] of text.matchAll(/<Part>(.*?)<\/Part>/gs)) {
      const [number, size, etag] = [
        fieldOf(part, "PartNumber"),
        fieldOf(part, "Size"),
        fieldOf(part, "ETag"),
      ];
      if (etag !== undefined) known.set(Number(number), { etag, size: Number(size) });
    }
    marker = fieldOf(text, "NextPartNumberMarker") ?? "";
    if (fieldOf(text, "IsTruncated") !== "true" || marker === "") break;
  }
  return known;
}

type Joining = { key: string; uploadId: string; parts: { number: number; etag: string }[] };

export async function joinParts(calls: S3Calls, { key, uploadId, parts }: Joining): Promise<void> {
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const listed = sorted.map(
    ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
  );
  const body = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
  const answer = await calls.call({ method: "POST", key, query: { uploadId }, body });
  const text = await answer.text();
  // 404: an earlier call has joined them already, and what it made is looked at next.
  if (answer.status === 404 || (answer.ok && fieldOf(text, "Code") === undefined)) return;
  const reason = fieldOf(text, "Code") ?? String(answer.status);
  if (answer.status >= 500) throw unavailable({ method: "POST", key }, reason);
  throw new WritError(
    "CHECKSUM_MISMATCH",
    `the object store cannot join the parts: ${reason}; put them again`,
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
