import { stat } from "node:fs/promises";
import { codeOf } from "../../core/errors.ts";

type Followed = {
  /** The files to look at; those that are missing count too. */
  files(): Promise<string[]> | string[];
  /** Takes over what they hold now, or throws why not. */
  take(): Promise<void>;
  /** Called once for files that were refused, and again only when they have changed. */
  onRefused(error: unknown): void;
};

/**
 * Gives a look that takes files over when they have changed. Two files are never replaced at once, so what is refused
 * gets a second look, and only files that lie there unchanged by then are reported.
 */
export function followFiles(followed: Followed): () => Promise<void> {
  let settled: string | null = null;
  let doubted: string | null = null;
  return async () => {
    // Before they are read: what changes while they are is noticed by the next look.
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

/** Differs when a file was written, replaced, renamed over, or may be read by others than before. */
async function stampOf(files: string[]): Promise<string> {
  const stamps: string[] = [];
  for (const file of files) stamps.push(`${file} ${await stampOfOne(file)}`);
  return stamps.join("\n");
}

/** Of what a link leads to: some tools replace only the link. */
async function stampOfOne(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return codeOf(error);
  }
}
