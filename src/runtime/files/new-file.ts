import type { FileHandle } from "node:fs/promises";

/** A file that is being written under a name of its own, so that no reader takes half of it for all. */
export type NewFile = {
  readonly handle: FileHandle;
  /** Gives it its name, in place of whatever file had it. */
  keep(): Promise<void>;
  /** Removes it; after `keep` that changes nothing. Call it in any case, to close what is open. */
  discard(): Promise<void>;
};
