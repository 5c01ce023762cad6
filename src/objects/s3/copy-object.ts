import { fieldOf, type S3Calls, type S3Request, unavailable } from "./s3-calls.ts";
import { beginParts } from "./upload-parts.ts";

/** What a store copies in one call; larger objects are copied in parts. */
const limitsDefault = { wholeBytesMax: 5 * 1024 ** 3, partBytes: 1024 ** 3 };

type Copy = { bucket: string; from: string; size: number; to: string };

/** Copies an object inside its bucket, without its bytes passing through the hub. */
export async function copyObject(calls: S3Calls, copy: Copy, limits = limitsDefault): Promise<void> {
  const { bucket, from, size, to } = copy;
  const headers = { "x-amz-copy-source": `/${bucket}/${from.split("/").map(encodeURIComponent).join("/")}` };
  if (size > limits.wholeBytesMax) return copyParts(calls, { ...copy, ...limits }, headers);
  await copied(calls, { method: "PUT", key: to, headers });
}

type PartsCopy = Copy & { partBytes: number };

async function copyParts(calls: S3Calls, copy: PartsCopy, headers: Record<string, string>): Promise<void> {
  const uploadId = await beginParts(calls, copy.to);
  try {
    await copyEach(calls, { ...copy, uploadId }, headers);
  } catch (error) {
    // No other call knows of these parts, and a store keeps and charges for them until they are removed. Why the copy
    // failed is more important than why that did.
    await calls.call({ method: "DELETE", key: copy.to, query: { uploadId } }).catch(() => undefined);
    throw error;
  }
}

async function copyEach(
  calls: S3Calls,
  { size, to, partBytes, uploadId }: PartsCopy & { uploadId: string },
  headers: Record<string, string>,
): Promise<void> {
  const parts: string[] = [];
  for (let start = 0, number = 1; start < size; start += partBytes, number++) {
    const end = Math.min(start + partBytes, size) - 1;
    const query = { partNumber: String(number), uploadId };
    const range = { ...headers, "x-amz-copy-source-range": `bytes=${start}-${end}` };
    const etag = await copied(calls, { method: "PUT", key: to, query, headers: range });
    parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
  }
  const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  await copied(calls, { method: "POST", key: to, query: { uploadId }, body });
}

/** A copy that fails after the answer has begun reports that in the body, under status 200. */
async function copied(calls: S3Calls, request: S3Request): Promise<string> {
  const answer = await calls.must(request);
  const text = await answer.text();
  const code = fieldOf(text, "Code");
  if (code !== undefined) throw unavailable(request, code);
  return fieldOf(text, "ETag") ?? "";
}
