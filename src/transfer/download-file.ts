import { createHash, type Hash } from "node:crypto";
import { sendRequest, type TransferResponse } from "./send-request.ts";
import type { PresignedUrl, TransferDeps, TransferOptions } from "./transfer-deps.ts";
import { statusFailure, TransferFailure } from "./transfer-failure.ts";
import type { FileFacts } from "./upload-file.ts";
import { withFreshUrls } from "./with-fresh-urls.ts";

/** An empty file that is open for writing, or whatever else takes bytes. */
export type DownloadTarget = {
  write(
    chunk: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }>;
  truncate(length: number): Promise<void>;
};

type Download = TransferOptions & {
  target: DownloadTarget;
  /** Asks for a fresh URL to get the object. */
  askUrl(): Promise<PresignedUrl>;
  /** What the bytes must hash to; without it, any are accepted. */
  sha256?: string | undefined;
  bytesMax?: number | undefined;
};

/** What has arrived so far, and of which object, if the store says so. */
type Arrived = { bytes: number; hash: Hash; isSpliced: boolean; etag: string | undefined };

/**
 * Fetches an object and hashes it on the way. A connection that breaks is taken up again where it broke. The file may
 * be used only after this has resolved: until then its bytes are not checked. Rejects with a TransferFailure. Why: ADR
 * 0042.
 */
export async function downloadFile(deps: TransferDeps, download: Download): Promise<FileFacts> {
  const arrived: Arrived = { bytes: 0, hash: createHash("sha256"), isSpliced: false, etag: undefined };
  const tries = { ask: download.askUrl, bytes: () => arrived.bytes, signal: download.signal };
  return withFreshUrls(deps, tries, async (url) => {
    await fetchRest(deps, { ...download, url }, arrived);
    const facts = { size: arrived.bytes, sha256: arrived.hash.copy().digest("hex") };
    if (download.sha256 === undefined || facts.sha256 === download.sha256) return facts;
    // Halves of two objects, if somebody replaced it meanwhile: then the whole of the new one may be right.
    const problem = arrived.isSpliced ? "unavailable" : "mismatch";
    await startOver(download.target, arrived);
    throw new TransferFailure(problem, `its ${facts.size} bytes do not have the SHA-256 ${download.sha256}`);
  });
}

async function fetchRest(
  deps: TransferDeps,
  { url, target, signal, bytesMax = Number.MAX_SAFE_INTEGER, onProgress }: Download & { url: PresignedUrl },
  arrived: Arrived,
): Promise<void> {
  const headers: Record<string, string> = { ...url.headers };
  if (arrived.bytes > 0) headers["range"] = `bytes=${arrived.bytes}-`;
  const response = await sendRequest(deps, { method: "GET", url: url.url, headers, signal });
  if (arrived.bytes > 0 && isOfAnother(response, arrived)) {
    await response.text();
    await startOver(target, arrived);
    throw new TransferFailure("unavailable", "it was replaced while it was fetched");
  }
  // The connection broke when all bytes had arrived, so there is no such range.
  if (response.status === 416 && arrived.bytes > 0) return void (await response.text());
  if (response.status !== 200 && response.status !== 206)
    throw statusFailure(response.status, await response.text());

  if (continues(response, arrived.bytes)) arrived.isSpliced = arrived.bytes > 0;
  else await startOver(target, arrived);
  arrived.etag = response.header("etag");
  for await (const chunk of response.body) {
    if (arrived.bytes + chunk.length > bytesMax)
      throw new TransferFailure("too-large", `it has more than ${bytesMax} bytes`);
    await writeAll(target, chunk, arrived.bytes);
    arrived.hash.update(chunk);
    arrived.bytes += chunk.length;
    onProgress?.(arrived.bytes);
  }
}

/** Whether the rest belongs to another object than what has arrived: somebody has replaced it meanwhile. */
function isOfAnother(response: TransferResponse, { bytes, etag }: Arrived): boolean {
  if (response.status === 416) {
    const size = /^bytes \*\/(\d+)$/.exec(response.header("content-range") ?? "")?.[1];
    return size !== undefined && Number(size) !== bytes;
  }
  const now = response.header("etag");
  return response.status === 206 && etag !== undefined && now !== undefined && now !== etag;
}

/** Whether the response begins where the last one broke off; a store without ranges begins at the beginning. */
function continues(response: TransferResponse, bytes: number): boolean {
  if (response.status === 200) return bytes === 0;
  return response.header("content-range")?.startsWith(`bytes ${bytes}-`) ?? false;
}

async function startOver(target: DownloadTarget, arrived: Arrived): Promise<void> {
  await target.truncate(0);
  Object.assign(arrived, { bytes: 0, hash: createHash("sha256"), isSpliced: false, etag: undefined });
}

async function writeAll(target: DownloadTarget, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await target.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}
