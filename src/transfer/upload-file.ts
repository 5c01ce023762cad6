import { createHash } from "node:crypto";
import { bytesSource, type FileSource, hashOf } from "./file-source.ts";
import { sendRequest, successText } from "./send-request.ts";
import type { PresignedUrl, TransferDeps, TransferOptions } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";
import { type PutPart, uploadParts } from "./upload-parts.ts";
import { withFreshUrls } from "./with-fresh-urls.ts";

export type FileFacts = { size: number; sha256: string };

type Upload = TransferOptions & {
  source: FileSource;
  /** Of the source, if it is known already. */
  sha256?: string | undefined;
  /** Asks for a fresh URL to put a file of this size and hash. */
  askUrl(facts: FileFacts): Promise<PresignedUrl>;
};

/** From this size on it is worth asking whether an earlier program has left a part of the file at the store. */
const resumeBytesMin = 8 * 1024 ** 2;

/**
 * Puts a file into storage and returns its size and SHA-256, which are of the very bytes that were sent. A connection that
 * breaks is taken up again where it broke, if the store can do that. Rejects with a TransferFailure. Why: ADR 0042.
 */
export async function uploadFile(deps: TransferDeps, upload: Upload): Promise<FileFacts> {
  const { source, signal } = upload;
  const facts = { size: source.size, sha256: upload.sha256 ?? (await hashOf(source, signal)) };
  let arrived = 0;
  const onProgress = (bytes: number): void => {
    arrived = bytes;
    upload.onProgress?.(bytes);
  };
  const tries = { ask: () => upload.askUrl(facts), bytes: () => arrived, signal };
  let isFirst = true;
  await withFreshUrls(deps, tries, async (url) => {
    // The first time, asking how much of a small file has arrived would cost as much as sending it.
    const isWorthAsking = !isFirst || facts.size >= resumeBytesMin;
    // A store with an address for the end of an upload is not the hub, and continues only what it takes in parts.
    const mayResume = isWorthAsking && url.complete_url === undefined;
    isFirst = false;
    const sending = { source, facts, url, signal, onProgress, mayResume };
    const parts = url.parts === undefined ? await putFile(deps, sending) : await uploadParts(deps, sending);
    if (url.complete_url !== undefined) await complete(deps, url.complete_url, { parts, signal });
  });
  return facts;
}

export type Sending = {
  source: FileSource;
  facts: FileFacts;
  url: PresignedUrl;
  signal: AbortSignal;
  onProgress(bytes: number): void;
  /** Some of it, or all, may be at the store already. */
  mayResume: boolean;
};

async function putFile(deps: TransferDeps, sending: Sending): Promise<PutPart[]> {
  const { facts, url, signal } = sending;
  const offset = sending.mayResume ? await arrivedBytes(deps, sending) : 0;
  if (offset === "all") return [];
  const headers: Record<string, string> = { ...url.headers, "content-length": String(facts.size - offset) };
  if (offset > 0) headers["content-range"] = `bytes ${offset}-${facts.size - 1}/${facts.size}`;
  const md5 = createHash("md5");
  const response = await sendRequest(deps, {
    method: "PUT",
    url: url.url,
    headers,
    body: checkedBytes(sending, offset, (chunk) => md5.update(chunk)),
    signal,
  });
  await successText(response);
  checkTag(response.header("etag"), { sha256: facts.sha256, md5: offset === 0 ? md5.digest("hex") : null });
  return [];
}

/** Tells the hub that the store has everything; the hub looks, and the file exists from then on. */
async function complete(
  deps: TransferDeps,
  url: string,
  { parts, signal }: { parts: PutPart[]; signal: AbortSignal },
): Promise<void> {
  const body = Buffer.from(JSON.stringify(parts.length === 0 ? {} : { parts }));
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  const once = bytesSource(body).read(0, body.length);
  await successText(await sendRequest(deps, { method: "POST", url, headers, body: once, signal }));
}

/** How much an earlier connection has left at the store; a store that does not say so has nothing. */
async function arrivedBytes(deps: TransferDeps, { url, facts, signal }: Sending): Promise<number | "all"> {
  const { "content-length": _, ...headers } = url.headers ?? {};
  const response = await sendRequest(deps, { method: "HEAD", url: url.url, headers, signal });
  await response.text();
  if (response.status >= 300) return 0;
  if (response.header("upload-complete") === "?1") return "all";
  const offset = Number(response.header("upload-offset"));
  return Number.isSafeInteger(offset) && offset > 0 && offset < facts.size ? offset : 0;
}

/**
 * The bytes from an offset on. All of them are read and hashed, also those before it: what was sent must be what the URL
 * was asked for, even if somebody writes to the file meanwhile.
 */
async function* checkedBytes(
  { source, facts, onProgress }: Sending,
  offset: number,
  onSent: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const chunk of source.read(0, offset)) hash.update(chunk);
  let at = offset;
  for await (const chunk of source.read(offset, facts.size)) {
    hash.update(chunk);
    at += chunk.length;
    // The last bytes are held back until all are known to be right, so that no store keeps others under this hash.
    if (at === facts.size && hash.digest("hex") !== facts.sha256)
      throw new TransferFailure("changed", "the file was changed while it was sent");
    onSent(chunk);
    yield chunk;
    onProgress(at);
  }
}

/**
 * Most stores answer with a hash of what they have kept: of a whole file its MD5, and ours the SHA-256. Anything else is
 * their own affair.
 */
function checkTag(tag: string | undefined, { sha256, md5 }: { sha256: string; md5: string | null }): void {
  const digits = /^"?([0-9a-f]{32}|[0-9a-f]{64})"?$/.exec(tag ?? "")?.[1];
  if (digits === undefined) return;
  const expected = digits.length === 64 ? sha256 : md5;
  if (expected !== null && digits !== expected)
    throw new TransferFailure("unavailable", "the store has kept other bytes than were sent");
}
