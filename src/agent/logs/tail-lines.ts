import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { hasCode } from "../../core/errors.ts";

/** The last lines of a log and of the full files that were set aside, oldest first. */
export async function lastLines(
  file: string,
  { tail, grep = "", filesMax }: { tail: number; grep?: string | undefined; filesMax: number },
): Promise<string[]> {
  let lines: string[] = [];
  for (let n = 0; n <= filesMax && lines.length < tail; n++) {
    const path = n === 0 ? file : `${file}.${n}`;
    lines = [...(await matchingLines(path, grep, tail - lines.length)), ...lines];
  }
  return lines;
}

async function matchingLines(path: string, grep: string, max: number): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const line of createInterface({
      input: createReadStream(path),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      if (!line.includes(grep)) continue;
      found.push(line);
      if (found.length > 2 * max) found.splice(0, found.length - max);
    }
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  return found.slice(-max);
}

const pieceBytes = 64 * 1024;

/** Where the last lines of a file begin. */
export async function tailOffset(path: string, tail: number): Promise<number> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(pieceBytes);
    // The line break at the very end belongs to the last line.
    let left = tail + 1;
    for (let end = size; end > 0; ) {
      const from = Math.max(0, end - pieceBytes);
      const { bytesRead } = await file.read(buffer, 0, end - from, from);
      const piece = buffer.subarray(0, bytesRead);
      if (end === size && piece.at(-1) !== 0x0a) left--;
      for (
        let at = piece.lastIndexOf(0x0a);
        at !== -1;
        at = at === 0 ? -1 : piece.lastIndexOf(0x0a, at - 1)
      ) {
        left--;
        if (left === 0) return from + at + 1;
      }
      end = from;
    }
    return 0;
  } finally {
    await file.close();
  }
}
