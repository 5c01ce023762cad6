import { createHash, randomBytes } from "node:crypto";
import { hasCode, invalidArgument, WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { ObjectPlace, PutUpload, SignedUpload, StoreServed, UploadUrls } from "../objects.ts";
import { copyObject } from "./copy-object.ts";
import { listKeys } from "./list-keys.ts";
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
 * `<tenant>/<folder>/<id>/<name of the copy>/<key>` and checked there. Every call that completes makes a copy of its own,
 * and no URL to put one is ever made: what is put or completed later changes nothing that anybody reads.
 * Why: ADR 0041, ADR 0093.
 */
export class S3Objects implements StoreServed {
  readonly servedBy = "store";
  readonly origin: string;
  readonly #calls: S3Calls;
  readonly #bucket: string;
  readonly #options: Required<S3Options>;
  readonly #completing = new Map<string, Promise<string>>();

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
    if (fileKey({ ...place, storedAs: newName() }).length > keyBytesMax) {
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
    if (place.storedAs !== null) return true;
    return (await this.#look(uploadKey(place)))?.size === size;
  }

  /** A second call, by a sender that has waited long enough, waits for the first: a large file is not read twice. */
  complete(place: ObjectPlace, upload: PutUpload): Promise<string> {
    const running = this.#completing.get(place.id);
    if (running !== undefined) return running;
    const completed = this.#complete(place, upload).finally(() => this.#completing.delete(place.id));
    this.#completing.set(place.id, completed);
    return completed;
  }

  async #complete(place: ObjectPlace, upload: PutUpload): Promise<string> {
    try {
      return await this.#copyAndCheck(place, upload);
    } catch (error) {
      // Parts that were wrong, or wrong together, are of no use: the next request for URLs begins with the first.
      if (hasCode(error, "CHECKSUM_MISMATCH")) {
        await this.giveUpParts(place);
        await this.#delete(uploadKey(place));
      }
      throw error;
    }
  }

  /**
   * The copy is what is checked: no URL that was given out can change it, and no other call has its name. Putting
   * something else meanwhile, where the copy is made from, has no effect on what is read. What was put stays until the
   * row names a copy of it, so that this can be done again if the hub is killed before.
   */
  async #copyAndCheck(place: ObjectPlace, upload: PutUpload): Promise<string> {
    const storedAs = newName();
    const [from, to] = [uploadKey(place), fileKey({ ...place, storedAs })];
    if (place.storeUpload !== null && upload.parts.length > 0) {
      await joinParts(this.#calls, { key: from, uploadId: place.storeUpload, parts: upload.parts });
    }
    const put = await this.#look(from);
    if (put === null) throw new WritError("NOT_FOUND", "nothing was put; put the file first");
    await copyObject(this.#calls, { bucket: this.#bucket, from, size: put.size, to });
    try {
      if (await this.#isFile(to, upload)) return storedAs;
    } catch (error) {
      // No record names the copy. The error of the check is more important than one of the removal.
      await this.#delete(to).catch(() => undefined);
      throw error;
    }
    await this.#delete(to);
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
  async #isFile(key: string, { size, sha256 }: PutUpload): Promise<boolean> {
    const found = await this.#look(key);
    if (found?.size !== size) return false;
    return (found.sha256 ?? (await this.#hashOf(key))) === sha256;
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

  /** A store that no longer knows the upload has nothing to remove. */
  async giveUpParts(place: ObjectPlace): Promise<void> {
    if (place.storeUpload === null) return;
    const query = { uploadId: place.storeUpload };
    await this.#calls.call({ method: "DELETE", key: uploadKey(place), query });
  }

  async tidy(place: ObjectPlace): Promise<void> {
    await this.#delete(uploadKey(place));
    const file = fileKey(place);
    for (const key of await listKeys(this.#calls, copiesPrefix(place))) {
      if (key !== file) await this.#delete(key);
    }
  }

  async remove(place: ObjectPlace): Promise<void> {
    await this.giveUpParts(place);
    const copies = await listKeys(this.#calls, copiesPrefix(place));
    for (const key of new Set([uploadKey(place), fileKey(place), ...copies])) await this.#delete(key);
  }

  async #delete(key: string): Promise<void> {
    const answer = await this.#calls.call({ method: "DELETE", key });
    if (!answer.ok && answer.status !== 404)
      throw unavailable({ method: "DELETE", key }, String(answer.status));
  }

  async close(): Promise<void> {}
}

function uploadKey({ tenantId, folderId, id }: ObjectPlace): string {
  return `${tenantId}/${folderId}/.uploads/${id}`;
}

/** A file of version 0.1 has no name of its own below its id. */
function fileKey(place: ObjectPlace): string {
  const name = place.storedAs === null ? "" : `${place.storedAs}/`;
  return `${copiesPrefix(place)}${name}${place.objectKey}`;
}

function copiesPrefix({ tenantId, folderId, id }: ObjectPlace): string {
  return `${tenantId}/${folderId}/${id}/`;
}

function newName(): string {
  return randomBytes(8).toString("hex");
}
