import type { z } from "zod";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { apiPrefix } from "../../contract/routes/route.ts";
import type { inputs } from "../../contract/shapes/file-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { bytesText } from "../parts/format.ts";

/** A file that a job reads, already in storage. */
export type InputFile = z.output<typeof inputs>[number];

/** The page holds a file in memory to hash it; jobctl sends larger ones, and can resume. */
const uploadBytesMax = 64 * 1024 * 1024;
const folderId = "uploads";

/** Stores a file at the hub, under its hash as `jobctl` does, and describes it as an input of a job. */
export async function uploadInput(file: File): Promise<InputFile> {
  if (file.size > uploadBytesMax) {
    throw new Error(
      `${file.name} has ${bytesText(file.size)}; this page sends files of up to ${bytesText(uploadBytesMax)}, larger ones are sent by jobctl run --input`,
    );
  }
  if (crypto.subtle === undefined) {
    throw new Error(
      "files can be sent only by a page that is encrypted or on 127.0.0.1; use jobctl run --input",
    );
  }
  const bytes = await file.arrayBuffer();
  const sha256 = hex(await crypto.subtle.digest("SHA-256", bytes));
  const place = { folderId, objectKey: sha256 };
  const { body } = await callHub(pageRoutes.presignFiles, {
    body: [{ ...place, method: "PUT", size: file.size, sha256 }],
  });
  await put(body.urls[0]!, bytes, file.name);
  return { path: file.name, folder_id: folderId, object_key: sha256, sha256 };
}

type PutUrl = { url: string; headers?: Record<string, string> | undefined };

/** Sends to the page's own address, even if the hub's URL has another name: the page's policy allows no other. */
async function put({ url, headers }: PutUrl, bytes: ArrayBuffer, name: string): Promise<void> {
  const { pathname, search } = new URL(url);
  if (!pathname.startsWith(`${apiPrefix}/objects/`))
    throw new Error(
      "this hub keeps files in an object store, which the page may not call; use jobctl run --input",
    );
  const response = await fetch(pathname + search, { method: "PUT", headers: headers ?? {}, body: bytes });
  if (response.ok) return;
  // A proxy may answer with something else than the hub's JSON; then the status has to do.
  const answer = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  throw new Error(`${name} was not stored: ${answer?.error?.message ?? `status ${response.status}`}`);
}

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
