import type { FileUrl } from "../../src/contract/shapes/storage-shapes.ts";
import type { OutputFile } from "../../src/core/jobs/output-file.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import type { Answer } from "./call-http.ts";
import type { TestHub } from "./hub.ts";
import type { HeldJob } from "./jobs.ts";

export type FileRequest = {
  folderId: string;
  objectKey: string;
  method: string;
  size?: number;
  sha256?: string;
};

/** URLs for files of the token's user. */
export async function presign(hub: TestHub, token: string, ...requests: FileRequest[]): Promise<FileUrl[]> {
  const answer = await hub.must("POST", "/files/presigned-urls", { token, body: requests });
  return answer.json<{ urls: FileUrl[] }>().urls;
}

/** The path of a hub's own URL, as `hub.call` takes it. */
export function pathOf({ url }: { url: string }): string {
  return new URL(url).pathname.replace(/^\/api\/v1/, "");
}

export function ticketIn(url: FileUrl): string {
  return pathOf(url).slice("/objects/".length);
}

export const octets = { "Content-Type": "application/octet-stream" };

export function put(hub: TestHub, url: { url: string }, bytes: Uint8Array, headers = {}): Promise<Answer> {
  return hub.call("PUT", pathOf(url), { body: bytes, headers: { ...octets, ...headers } });
}

/** A file that a user has uploaded. */
export async function storedFile(
  hub: TestHub,
  token: string,
  file: { folderId: string; objectKey: string; bytes: Uint8Array },
): Promise<{ sha256: string; size: number }> {
  const { folderId, objectKey, bytes } = file;
  const facts = { size: bytes.length, sha256: sha256Hex(bytes) };
  const [url] = await presign(hub, token, { folderId, objectKey, method: "PUT", ...facts });
  const answer = await put(hub, url!, bytes);
  if (answer.status !== 201) throw new Error(`the upload answered ${answer.status}: ${answer.text}`);
  return facts;
}

export async function jobTokenOf(hub: TestHub, { id, fence }: HeldJob): Promise<string> {
  const answer = await hub.must("POST", `/jobs/${id}/token`, { token: hub.admin, body: fence });
  return answer.json<{ job_token: string }>().job_token;
}

/** URLs for the attempt of a job, by its own token. */
export async function presignForJob(
  hub: TestHub,
  held: HeldJob,
  ...requests: FileRequest[]
): Promise<FileUrl[]> {
  const token = await jobTokenOf(hub, held);
  const path = `/docker/jobs/${held.id}/request-presigned-urls`;
  return (await hub.must("POST", path, { token, body: requests })).json<{ urls: FileUrl[] }>().urls;
}

/** Uploads a file as the attempt of a job does, and gives what it has to report. */
export async function uploadForJob(
  hub: TestHub,
  held: HeldJob,
  file: { folderId: string; objectKey: string; bytes: Uint8Array },
): Promise<OutputFile> {
  const { folderId, objectKey, bytes } = file;
  const facts = { size: bytes.length, sha256: sha256Hex(bytes) };
  const [url] = await presignForJob(hub, held, { folderId, objectKey, method: "PUT", ...facts });
  const answer = await put(hub, url!, bytes);
  if (answer.status !== 201) throw new Error(`the upload answered ${answer.status}: ${answer.text}`);
  return { folder_id: folderId, object_key: objectKey, ...facts };
}
