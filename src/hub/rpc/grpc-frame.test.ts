import { fromBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { schemaOf } from "../../../test/support/proto-schemas.ts";
import { framedBytesMax, frameOutput } from "./grpc-frame.ts";

test("protobuf reads the messages that frameOutput writes", () => {
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

type Message = { data: Uint8Array; offset: bigint; attempt: number };

function unframe(bytes: Buffer): Message[] {
  const schema = schemaOf("StreamOutputResponse");
  const messages: Message[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    messages.push(fromBinary(schema, bytes.subarray(at + 5, at + 5 + length)) as unknown as Message);
    at += 5 + length;
  }
  return messages;
}
