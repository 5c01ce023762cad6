import fc from "fast-check";
import { expect, test } from "vitest";
import { frameMessage } from "../../runtime/http/grpc-message.ts";
import { Unframer } from "./grpc-frames.ts";

test("a compressed message is refused", () => {
  expect(() => new Unframer().push(Buffer.from([1, 0, 0, 0, 0]))).toThrow("compressed");
});

test("a message of an absurd size is refused before it comes", () => {
  expect(() => new Unframer().push(Buffer.from([0, 255, 255, 255, 255]))).toThrow("4294967295 bytes");
});

test("half a message is held and is not nothing", () => {
  const unframer = new Unframer();
  expect(unframer.push(frameMessage(Buffer.from("hello")).subarray(0, 7))).toEqual([]);
  expect(unframer.isEmpty).toBe(false);
});

test("messages come out as they went in, however the network cuts them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 50 })),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (messages, sizes) => {
        const bytes = Buffer.concat(messages.map((message) => frameMessage(message)));
        const unframer = new Unframer();
        const found: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          found.push(...unframer.push(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(found.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
        expect(unframer.isEmpty).toBe(true);
      },
    ),
  );
});
