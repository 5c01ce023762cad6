import fc from "fast-check";
import { expect, test } from "vitest";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import { encodeFrame, FrameReader } from "./relay-frames.ts";

function read(chunks: readonly Buffer[]) {
  const seen: Record<OutputStream | "text", string> = { stdout: "", stderr: "", text: "" };
  const reader = new FrameReader({
    onPiece: (stream, piece) => {
      seen[stream] += piece.toString("latin1");
    },
    onText: (text) => {
      seen.text += text.toString("latin1");
    },
  });
  for (const chunk of chunks) reader.push(chunk);
  return seen;
}

test("frames are read at any cut, with other text between them", () => {
  const frames = Buffer.concat([
    Buffer.from("warning: old kernel\n"),
    encodeFrame("stdout", Buffer.from("a\0b")),
    encodeFrame("stderr", Buffer.alloc(0)),
    encodeFrame("stderr", Buffer.from("c")),
    Buffer.from("exit status 1\n"),
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(frames.length)), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), frames.length];
      const chunks = places.slice(1).map((end, n) => frames.subarray(places[n], end));
      const seen = read(chunks);
      expect(seen).toEqual({ stdout: "a\0b", stderr: "c", text: "warning: old kernel\nexit status 1\n" });
    }),
  );
});
