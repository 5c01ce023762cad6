import { open } from "node:fs/promises";
import { WritError } from "../../core/errors.ts";
import { asObjectError } from "./object-error.ts";

const pieceBytes = 256 * 1024;

/** Yields exactly the bytes from `start` to before `end`. Each piece is read when the one before has been taken. */
export async function* readBytes(
  path: string,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  try {
    const handle = await open(path, "r");
    try {
      for (let at = start; at < end; ) {
        const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - at));
        const { bytesRead } = await handle.read(piece, 0, piece.length, at);
        if (bytesRead === 0) throw new WritError("FILES_UNAVAILABLE", "a stored file is shorter than it was");
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw asObjectError(error, path);
  }
}
