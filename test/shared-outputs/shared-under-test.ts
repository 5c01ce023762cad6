import { FolderSegments } from "../../src/objects/folder/folder-segments.ts";
import { SharedOutputs } from "../../src/output/shared/shared-outputs.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { type OutputBounds, type OutputTable, outputBounds } from "../../src/store/output-table.ts";
import { openOutputTable } from "../../src/store/postgres/output-table.ts";
import { postgresUnderTest } from "../store-contract/postgres-under-test.ts";

/** So small that a test has many chunks and segments, and nothing has to stay in the table. */
export const smallBounds: OutputBounds = { chunkMin: 1_000, chunkMax: 4_000, tailMax: 0, segment: 20_000 };
export const unstopped = new AbortController().signal;

const migrated = new Set<string>();

type Options = Partial<ConstructorParameters<typeof SharedOutputs>[1]>;

/** Outputs on an empty database; each `open` is what another hub would do with it. */
export class SharedPlace {
  readonly #database = postgresUnderTest();
  readonly #bounds: OutputBounds;

  constructor(bounds: OutputBounds = outputBounds) {
    this.#bounds = bounds;
  }

  url(): Promise<string> {
    return this.#database.url();
  }

  async openTable(): Promise<OutputTable> {
    const url = await this.#database.url();
    if (!migrated.has(url)) await (await this.#database.open()).close();
    migrated.add(url);
    return openOutputTable({ url, bounds: this.#bounds });
  }

  /** Nothing has to be idle for long. */
  async open(options: Options = {}): Promise<SharedOutputs> {
    const times = { idleMs: 0, staleMs: 60_000 };
    return new SharedOutputs(await this.openTable(), { clock: systemClock, times, ...options });
  }

  async remove(): Promise<void> {
    await this.#database.remove();
  }
}

export async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces));
}

/** The folder that all hubs of this place share. */
export async function openFolder(place: SharedPlace, root: string): Promise<FolderSegments> {
  const table = await place.openTable();
  try {
    return await FolderSegments.open(root, (mark) => table.markFolder(mark));
  } finally {
    await table.close();
  }
}
