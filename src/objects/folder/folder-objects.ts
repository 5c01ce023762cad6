import { constants } from "node:fs";
import { access, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import type { ArrivingBytes, HubServed, ObjectPlace } from "../objects.ts";
import { asObjectError } from "./object-error.ts";
import { readBytes } from "./read-bytes.ts";
import { receiveFile } from "./receive-file.ts";

/**
 * Keeps files in a folder of this machine: `<tenant>/<folder>/<two digits>/<id>`. The key is not a path here: keys such
 * as `a` and `a/b` can both exist, and no key can lead anywhere.
 */
export class FolderObjects implements HubServed {
  readonly servedBy = "hub";
  readonly #root: string;
  /** What is arriving, by id. */
  readonly #arriving = new Map<string, { abort: AbortController; over: Promise<unknown> }>();

  constructor(root: string) {
    this.#root = root;
  }

  async check(): Promise<void> {
    await access(this.#root, constants.R_OK | constants.W_OK).catch((error) => {
      throw asObjectError(error, this.#root);
    });
  }

  async has(place: ObjectPlace, size: number): Promise<boolean> {
    const path = this.#pathOf(place);
    try {
      return (await stat(path)).size >= size;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
      throw asObjectError(error, path);
    }
  }

  async sizeOf(place: ObjectPlace): Promise<number> {
    const path = this.#pathOf(place);
    try {
      return (await stat(path)).size;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return 0;
      throw asObjectError(error, path);
    }
  }

  async receive(place: ObjectPlace, upload: ArrivingBytes): Promise<{ size: number; sha256: string | null }> {
    // More than one may be waiting for the same older one.
    for (let older = this.#arriving.get(place.id); older; older = this.#arriving.get(place.id)) {
      older.abort.abort();
      await older.over;
    }
    const abort = new AbortController();
    const received = receiveFile(this.#pathOf(place), upload, abort.signal);
    const over = received.catch(() => {});
    this.#arriving.set(place.id, { abort, over });
    try {
      return await received;
    } finally {
      this.#arriving.delete(place.id);
    }
  }

  read(place: ObjectPlace, range: { start: number; end: number }): AsyncGenerator<Buffer> {
    return readBytes(this.#pathOf(place), range);
  }

  async remove(place: ObjectPlace): Promise<void> {
    const arriving = this.#arriving.get(place.id);
    arriving?.abort.abort();
    await arriving?.over;
    const path = this.#pathOf(place);
    await rm(path, { force: true }).catch((error) => {
      if (!hasCode(error, "ENOTDIR")) throw asObjectError(error, path);
    });
  }

  async close(): Promise<void> {
    for (const { abort } of this.#arriving.values()) abort.abort();
    await Promise.all(Array.from(this.#arriving.values(), ({ over }) => over));
  }

  #pathOf({ id, tenantId, folderId }: ObjectPlace): string {
    // The end of an id is random; its start is the time.
    return join(this.#root, tenantId, folderId, id.slice(-2), id);
  }
}
