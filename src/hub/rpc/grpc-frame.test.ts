import { fromBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { StreamOutputResponseSchema } from "../../contract/gen/writ/v1/job_service_pb.js";
import { frameMessage } from "../../runtime/http/grpc-message.ts";
import { framedBytesMax, frameOutput, MessageReader } from "./grpc-frame.ts";

test.each([
  ["half a prefix", Buffer.from([0, 0, 0])],
  ["a length that is not there", Buffer.from([0, 0, 0, 0, 9, 1])],
  ["a compressed message", Buffer.from([1, 0, 0, 0, 0])],
  ["a message over the limit", Buffer.from([0, 0, 0, 0, 101])],
])("a request with %s is refused", (_name, bytes) => {
  const reader = new MessageReader(100);
  expect(() => {
    Array.from(reader.add(bytes));
    reader.end();
  }).toThrow();
});

test("messages are read however they are cut into parts", () => {
  const texts = fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 5 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 50 }), (messages, partBytes) => {
      const bytes = Buffer.concat(messages.map(frameMessage));
      const reader = new MessageReader(100);
      const read: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += partBytes) {
        read.push(...reader.add(bytes.subarray(at, at + partBytes)));
      }
      reader.end();
      expect(read.map((message) => new Uint8Array(message))).toEqual(messages);
    }),
  );
});

test("messages written by hand are read by protobuf as they were meant", () => {
  const offsets = fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 10_000 }));
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 5000 }),
      offsets,
      fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      fc.integer({ min: 1, max: 6000 }),
      (piece, offset, attempt, chunkBytes) => {
        const into = Buffer.alloc(framedBytesMax(piece.length, chunkBytes));
        const messages = unframe(frameOutput(piece, { offset, attempt, chunkBytes, into }));
        let at = offset;
        for (const message of messages) {
          expect(message.data.length).toBeLessThanOrEqual(chunkBytes);
          expect(message).toMatchObject({ offset: BigInt(at), attempt });
          at += message.data.length;
        }
        expect(Buffer.concat(messages.map(({ data }) => data)).equals(piece)).toBe(true);
      },
    ),
  );
});

function unframe(bytes: Buffer) {
  const messages = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    messages.push(fromBinary(StreamOutputResponseSchema, bytes.subarray(at + 5, at + 5 + length)));
    at += 5 + length;
  }
  return messages;
}
