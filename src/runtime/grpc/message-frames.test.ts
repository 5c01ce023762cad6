import fc from "fast-check";
import { expect, test } from "vitest";
import { frameMessage, MessageReader } from "./message-frames.ts";

const limits = { bytesMax: 100, refuse: (problem: string) => new Error(problem) };

test.each([
  ["compressed", Buffer.from([1, 0, 0, 0, 0])],
  ["too large", Buffer.from([0, 0, 0, 0, 101])],
])("a message that is %s is refused before it arrives", (problem, bytes) => {
  expect(() => Array.from(new MessageReader(limits).add(bytes))).toThrow(problem);
});

test.each([3, 7])("%i bytes of a message are kept, and the reader is not empty", (bytes) => {
  const reader = new MessageReader(limits);
  expect(Array.from(reader.add(frameMessage(Buffer.from("hello")).subarray(0, bytes)))).toEqual([]);
  expect(reader.isEmpty).toBe(false);
});

test("messages are read however they are cut into parts", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 100 })),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
      (messages, sizes) => {
        const bytes = Buffer.concat(messages.map(frameMessage));
        const reader = new MessageReader(limits);
        const read: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          read.push(...reader.add(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(read.map((message) => new Uint8Array(message))).toEqual(messages);
        expect(reader.isEmpty).toBe(true);
      },
    ),
  );
});
