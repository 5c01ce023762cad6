import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { codeOf } from "../../core/errors.ts";
import { Masker } from "./masker.ts";

/** A process that left the session of its job may keep the other end open for ever. */
const restMs = 1_000;

export type MaskedCopy = {
  /** Call it when the process has ended. Resolves when all output is in the file, or with the reason why it is not. */
  finish(): Promise<string | null>;
};

/**
 * Copies the output of a process without a cage into a file, masked. In a cage the launcher does this. Why: ADR 0034.
 */
export function copyMasked(source: Readable, file: FileHandle, masks: readonly string[]): MaskedCopy {
  const copied = copy(source, file, new Masker(masks));
  return {
    async finish() {
      const timer = setTimeout(() => source.destroy(), restMs);
      const failure = await copied;
      clearTimeout(timer);
      return failure;
    },
  };
}

/** Returns the code of the error if the file could not take all of it. */
async function copy(source: Readable, file: FileHandle, masker: Masker): Promise<string | null> {
  let isCut = false;
  let failure: string | null = null;
  const write = async (bytes: Uint8Array): Promise<void> => {
    await file.writeFile(bytes).catch((error: unknown) => {
      failure ??= codeOf(error);
    });
  };
  try {
    for await (const chunk of source) {
      await write(masker.push(chunk));
      // For example a full disk: the file keeps what it has, and nothing more is read.
      if (failure !== null) break;
    }
  } catch {
    // The pipe broke, or was closed after its rest time: the copy ends here.
    isCut = true;
  }
  source.destroy();
  // The held bytes may be the first half of a secret whose other half was cut off.
  const rest = isCut || failure !== null ? masker.end().fill("*") : masker.end();
  await write(rest);
  await file.close().catch((error: unknown) => {
    failure ??= codeOf(error);
  });
  return failure;
}
