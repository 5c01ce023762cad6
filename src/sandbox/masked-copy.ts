import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { Masker } from "./masker.ts";

/** A process that left the session of its job may keep the other end open for ever. */
const restMs = 1_000;

export type MaskedCopy = {
  /** Call it when the process has ended. Resolves when all that it wrote is in the file. */
  finish(): Promise<void>;
};

/** Copies what a process without a cage writes into a file, masked. In a cage the launcher does this. */
export function copyMasked(source: Readable, file: FileHandle, masks: readonly string[]): MaskedCopy {
  const copied = copy(source, file, new Masker(masks));
  return {
    async finish() {
      const timer = setTimeout(() => source.destroy(), restMs);
      await copied;
      clearTimeout(timer);
    },
  };
}

async function copy(source: Readable, file: FileHandle, masker: Masker): Promise<void> {
  let isCut = false;
  try {
    for await (const chunk of source) await file.writeFile(masker.push(chunk));
  } catch {
    // Cut off, or a full disk: what is in the file so far is kept, and nothing more is read.
    isCut = true;
    source.destroy();
  }
  // What is held back may be the first half of a secret whose other half was cut off.
  const rest = isCut ? masker.end().fill("*") : masker.end();
  await file.writeFile(rest).catch(() => {});
  await file.close().catch(() => {});
}
