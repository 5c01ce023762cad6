import { stat } from "node:fs/promises";
import { codeOf } from "../../core/errors.ts";

type Followed = {
  /** The files to check; missing ones count too. */
  files(): Promise<string[]> | string[];
  /** Loads the present files, or throws the reason why it cannot. */
  take(): Promise<void>;
  /** Called once for refused files, and again only when they have changed. */
  onRefused(error: unknown): void;
};

/**
 * Returns a function that loads files when they have changed. Two files are never replaced at the same moment, so
 * refused files are checked a second time, and reported only if they have not changed by then. Why: ADR 0012.
 */
export function followFiles(followed: Followed): () => Promise<void> {
  let settled: string | null = null;
  let doubted: string | null = null;
  return async () => {
    // Before the files are read, so that the next check notices a change during the read.
    const stamp = await stampOf(await followed.files());
    if (stamp === settled) return;
    try {
      await followed.take();
      settled = stamp;
    } catch (error) {
      if (stamp === doubted) {
        settled = stamp;
        followed.onRefused(error);
      }
      doubted = stamp;
    }
  };
}

/** Changes when a file was written, replaced or renamed, or its permissions changed. */
async function stampOf(files: string[]): Promise<string> {
  const stamps: string[] = [];
  for (const file of files) stamps.push(`${file} ${await stampOfOne(file)}`);
  return stamps.join("\n");
}

/** The stamp of a link's target, because some tools replace only the link. */
async function stampOfOne(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return codeOf(error);
  }
}
