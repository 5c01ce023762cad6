import { createHash } from "node:crypto";
import { invalidArgument, WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ObjectPlace, PutUpload, SignedUpload, StoreServed, UploadUrls } from "../objects.ts";
import { copyObject } from "./copy-object.ts";
import { S3Calls, unavailable } from "./s3-calls.ts";
import { objectUrl, type S3Settings } from "./s3-settings.ts";
import { beginParts, joinParts, listParts } from "./upload-parts.ts";

const mib = 1024 ** 2;
/** Larger files are put in parts, so that a broken connection costs one part and not the file. */
const wholeBytesMax = 64 * mib;
const partBytesMin = 16 * mib;
const partsMax = 2000;
/** What every store allows for a key. */
const keyBytesMax = 1024;

export type S3Options = { wholeBytesMax?: number; partBytesMin?: number };

/**
 * Keeps files in a bucket. A file is put to `<tenant>/<folder>/.uploads/<id>`, copied to
 * `<tenant>/<folder>/<id>/<key>` and checked there. For that place no URL to put is ever made: what was put later, with a
 * URL that was still valid, changes nothing that anybody reads.
 */
export class S3Objects implements StoreServed {
  readonly servedBy = "store";
  readonly origin: string;
  readonly #calls: S3Calls;
  readonly #bucket: string;
  readonly #options: Required<S3Options>;
  readonly #completing = new Map<string, Promise<void>>();

  constructor(settings: S3Settings, clock: Clock, options: S3Options = {}) {
    this.#calls = new S3Calls(settings, clock);
    this.origin = objectUrl(settings, "").origin;
    this.#bucket = settings.bucket;
    this.#options = { wholeBytesMax, partBytesMin, ...options };
  }

  /** No tenant's name begins with a dot. */
  async check(): Promise<void> {
    await this.#calls.must({ method: "PUT", key: ".writ-check", body: "" });
    await this.#calls.must({ method: "DELETE", key: ".writ-check" });
  }

  async has(place: ObjectPlace, size: number): Promise<boolean> {
    return (await this.#look(fileKey(place)))?.size === size;
  }

  async uploadUrls(place: ObjectPlace, { size, sha256, expiresInSec }: SignedUpload): Promise<UploadUrls> {
    const key = uploadKey(place);
    if (fileKey(place).length > keyBytesMax) {
      const message = `is too long for the object store, together with its folder and tenant`;
      throw invalidArgument({ path: "objectKey", message });
    }
    if (size > this.#options.wholeBytesMax) return this.#partUrls(place, size, expiresInSec);
    const headers = {
      "content-length": String(size),
      "x-amz-checksum-sha256": Buffer.from(sha256, "hex").toString("base64"),
    };
    const url = await this.#calls.presign({ method: "PUT", key, headers }, expiresInSec);
    return { url, headers };
  }

  /** A URL for each part. Asked again for the same upload, those that have arrived have the store's answer too. */
  async #partUrls(place: ObjectPlace, size: number, expiresInSec: number): Promise<UploadUrls> {
    const key = uploadKey(place);
    const known = place.storeUpload === null ? null : await listParts(this.#calls, key, place.storeUpload);
    const isJoined = known === null && place.storeUpload !== null && (await this.#isJoined(place, size));
    const storeUpload =
      known === null && !isJoined ? await beginParts(this.#calls, key) : (place.storeUpload ?? "");
    const partBytes = Math.max(this.#options.partBytesMin, Math.ceil(size / partsMax / mib) * mib);
    const parts = [];
    for (let offset = 0, number = 1; offset < size; offset += partBytes, number++) {
      const partSize = Math.min(partBytes, size - offset);
      const query = { partNumber: String(number), uploadId: storeUpload };
      const headers = { "content-length": String(partSize) };
      const url = await this.#calls.presign({ method: "PUT", key, query, headers }, expiresInSec);
      const there = known?.get(number);
      parts.push({
        number,
        offset,
        size: partSize,
        url,
        ...(there?.size === partSize ? { etag: there.etag } : {}),
      });
    }
    return { url: parts[0]!.url, headers: {}, parts: isJoined ? [] : parts, storeUpload };
  }

  /** Whether an earlier call has joined the parts already, and its answer was lost or is still to come. */
  async #isJoined(place: ObjectPlace, size: number): Promise<boolean> {
    const joined = (await this.#look(uploadKey(place))) ?? (await this.#look(fileKey(place)));
    return joined?.size === size;
  }

  /** A second call, by a sender that has waited long enough, waits for the first: a large file is not read twice. */
  complete(place: ObjectPlace, upload: PutUpload): Promise<void> {
    const running = this.#completing.get(place.id);
    if (running !== undefined) return running;
    const completed = this.#complete(place, upload).finally(() => this.#completing.delete(place.id));
    this.#completing.set(place.id, completed);
    return completed;
  }

  /**
   * The copy is what is checked: nobody has a URL that could change it. Putting something else meanwhile, where the
   * copy is made from, has no effect on what is read.
   */
  async #complete(place: ObjectPlace, upload: PutUpload): Promise<void> {
    const [from, to] = [uploadKey(place), fileKey(place)];
    // There already, if the answer to an earlier call was lost.
    let copy = await this.#look(to);
    if (copy === null) {
      if (place.storeUpload !== null && upload.parts.length > 0) {
        await joinParts(this.#calls, { key: from, uploadId: place.storeUpload, parts: upload.parts });
      }
      const put = await this.#look(from);
      if (put === null) throw new WritError("NOT_FOUND", "nothing was put; put the file first");
      await copyObject(this.#calls, { bucket: this.#bucket, from, size: put.size, to });
      copy = await this.#look(to);
    }
    const isRight = copy !== null && (await this.#isFile(to, copy, upload));
    await this.#calls.call({ method: "DELETE", key: from });
    if (isRight) return;
    await this.#calls.call({ method: "DELETE", key: to });
    throw new WritError(
      "CHECKSUM_MISMATCH",
      `what was put is not the file of ${upload.size} bytes that was announced; nothing of it was kept, put it again`,
    );
  }

  async #look(key: string): Promise<{ size: number; sha256: string | null } | null> {
    const headers = { "x-amz-checksum-mode": "ENABLED" };
    const answer = await this.#calls.call({ method: "HEAD", key, headers });
    if (answer.status === 404) return null;
    if (!answer.ok) throw unavailable({ method: "HEAD", key }, String(answer.status));
    const sha256 = answer.headers.get("x-amz-checksum-sha256");
    // A hash of hashes, which a file in parts has, ends with the number of its parts.
    const isWhole = sha256 !== null && /^[A-Za-z0-9+/]{43}=$/.test(sha256);
    return {
      size: Number(answer.headers.get("content-length")),
      sha256: isWhole ? Buffer.from(sha256, "base64").toString("hex") : null,
    };
  }

  /** By the store's own hash, or, if it has made none, by that of the bytes themselves. */
  async #isFile(
    key: string,
    found: { size: number; sha256: string | null },
    { size, sha256 }: PutUpload,
  ): Promise<boolean> {
    return found.size === size && (found.sha256 ?? (await this.#hashOf(key))) === sha256;
  }

  async #hashOf(key: string): Promise<string> {
    const answer = await this.#calls.must({ method: "GET", key });
    const hash = createHash("sha256");
    try {
      for await (const piece of answer.body ?? []) hash.update(piece);
    } catch (error) {
      throw unavailable({ method: "GET", key }, String(error));
    }
    return hash.digest("hex");
  }

  downloadUrl(
    place: ObjectPlace,
    { expiresInSec, imageType }: { expiresInSec: number; imageType?: string | undefined },
  ): Promise<string> {
    const name = place.objectKey.split("/").at(-1)!;
    const query = {
      "response-content-disposition": imageType === undefined ? `attachment; filename="${name}"` : "inline",
      "response-content-type": imageType ?? "application/octet-stream",
    };
    return this.#calls.presign({ method: "GET", key: fileKey(place), query }, expiresInSec);
  }

  async remove(place: ObjectPlace): Promise<void> {
    const { storeUpload } = place;
    if (storeUpload !== null) {
      // Parts of an upload that nobody has joined; a store that no longer knows it has nothing to remove.
      await this.#calls.call({ method: "DELETE", key: uploadKey(place), query: { uploadId: storeUpload } });
    }
    for (const key of [uploadKey(place), fileKey(place)]) {
      const answer = await this.#calls.call({ method: "DELETE", key });
      if (!answer.ok && answer.status !== 404)
        throw unavailable({ method: "DELETE", key }, String(answer.status));
    }
  }

  async close(): Promise<void> {}
}

function uploadKey({ tenantId, folderId, id }: ObjectPlace): string {
  return `${tenantId}/${folderId}/.uploads/${id}`;
}

function fileKey({ tenantId, folderId, id, objectKey }: ObjectPlace): string {
  return `${tenantId}/${folderId}/${id}/${objectKey}`;
}
