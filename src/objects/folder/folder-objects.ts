import { constants } from "node:fs";
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArrivingBytes, HubServed, ObjectPlace, ReceivedBytes } from "../objects.ts";
import { Arrivals } from "./arrivals.ts";
import { asObjectError } from "./object-error.ts";
import { readBytes } from "./read-bytes.ts";
import { receiveFile } from "./receive-file.ts";
import { largestPart, listArrived, listParts, removeUpload, sizeOf } from "./upload-folder.ts";

/**
 * Keeps files in a folder of this machine: `<tenant>/<folder>/<two digits>/<id>/<name of the arrival>`. The key is not a
 * path here: keys such as `a` and `a/b` can both exist, and no key can lead anywhere. Why: ADR 0041, ADR 0093.
 */
export class FolderObjects implements HubServed {
  readonly servedBy = "hub";
  readonly #root: string;
  readonly #arrivals = new Arrivals();

  constructor(root: string) {
    this.#root = root;
  }

  async check(): Promise<void> {
    await access(this.#root, constants.R_OK | constants.W_OK).catch((error) => {
      throw asObjectError(error, this.#root);
    });
  }

  has(place: ObjectPlace, size: number): Promise<boolean> {
    const path = this.#fileOf(place);
    return tried(path, async () => ((await sizeOf(path)) ?? -1) >= size);
  }

  arrivedBytes(place: ObjectPlace): Promise<number> {
    const folder = this.#folderOf(place);
    return tried(folder, async () => largestPart(await listParts(folder)));
  }

  receive(place: ObjectPlace, upload: ArrivingBytes): Promise<ReceivedBytes> {
    const folder = this.#folderOf(place);
    const isTaken = (name: string): boolean => this.#arrivals.isRunning(place.id, name);
    return this.#arrivals.run(place.id, { isAlone: upload.offset > 0 }, (arrival) =>
      receiveFile({ folder, arrival, isTaken }, upload),
    );
  }

  read(place: ObjectPlace, range: { start: number; end: number }): AsyncGenerator<Buffer> {
    return readBytes(this.#fileOf(place), range);
  }

  tidy(place: ObjectPlace): Promise<void> {
    const folder = this.#folderOf(place);
    return tried(folder, async () => {
      for (const { entry, name } of await listArrived(folder)) {
        const isNeeded = entry === place.storedAs || this.#arrivals.isRunning(place.id, name);
        if (!isNeeded) await rm(join(folder, entry), { force: true });
      }
    });
  }

  async remove(place: ObjectPlace): Promise<void> {
    await this.#arrivals.end(place.id);
    const folder = this.#folderOf(place);
    await tried(folder, () => removeUpload(folder));
  }

  close(): Promise<void> {
    return this.#arrivals.close();
  }

  #folderOf({ id, tenantId, folderId }: ObjectPlace): string {
    // The end of an id is random; its start is the time.
    return join(this.#root, tenantId, folderId, id.slice(-2), id);
  }

  #fileOf(place: ObjectPlace): string {
    return join(this.#folderOf(place), place.storedAs ?? "");
  }
}

async function tried<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw asObjectError(error, path);
  }
}
