import type { Duplex } from "node:stream";

/** The next bytes of a stream that has no other reader; it rests afterwards; null at its end. */
export function nextChunk(stream: Duplex): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const settle = (chunk: Buffer | null): void => {
      stream.pause();
      stream.off("data", settle).off("end", onEnd).off("close", onEnd);
      resolve(chunk);
    };
    const onEnd = (): void => settle(null);
    stream.on("data", settle).on("end", onEnd).on("close", onEnd).resume();
    if (stream.destroyed || stream.readableEnded) onEnd();
  });
}
