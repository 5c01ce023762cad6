import { describe, expect, it } from "vitest";
import { readClientHello } from "./client-hello.ts";

type Extension = { type: number; content: Buffer };

const block = (size: 1 | 2 | 3, content: Buffer): Buffer => {
  const head = Buffer.alloc(size);
  head.writeUIntBE(content.length, 0, size);
  return Buffer.concat([head, content]);
};
const extensionOf = ({ type, content }: Extension): Buffer =>
  Buffer.concat([Buffer.from([type >> 8, type & 255]), block(2, content)]);
const nameOf = (name: string, type = 0): Extension => ({
  type: 0,
  content: block(2, Buffer.concat([Buffer.from([type]), block(2, Buffer.from(name))])),
});

/** A hello as RFC 8446 lays it out, in records of the given size. */
function hello(extensions: readonly Extension[] | null, { recordBytes = 16_384, type = 1 } = {}): Buffer {
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    block(1, Buffer.alloc(32)),
    block(2, Buffer.from([0x13, 0x01])),
    block(1, Buffer.from([0])),
    ...(extensions === null ? [] : [block(2, Buffer.concat(extensions.map(extensionOf)))]),
  ]);
  const message = Buffer.concat([Buffer.from([type]), block(3, body)]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordBytes)
    records.push(Buffer.concat([Buffer.from([22, 3, 1]), block(2, message.subarray(at, at + recordBytes))]));
  return Buffer.concat(records);
}

const good = nameOf("Api.Test");
const other = { type: 43, content: Buffer.from([2, 3, 4]) };

describe("the server name of a TLS connection", () => {
  it.each<[string, Buffer, string]>([
    ["plain HTTP", Buffer.from("GET / HTTP/1.1\r\n"), "it is not TLS"],
    ["SSLv2", Buffer.from([0x80, 0x2e, 1, 3, 1]), "it is not TLS"],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0]), "it is not TLS"],
    ["a record of another kind", Buffer.from([23, 3, 3, 0, 1, 0]), "it is not TLS"],
    ["another message", hello([good], { type: 2 }), "it does not begin with a client hello"],
    ["no extensions", hello(null), "it names no server"],
    ["no name", hello([other]), "it names no server"],
    ["two names", hello([good, good]), "it names several servers"],
    [
      "a list of two",
      hello([{ type: 0, content: Buffer.concat([good.content, good.content]) }]),
      "malformed",
    ],
    ["a name of another type", hello([nameOf("api.test", 1)]), "malformed"],
    [
      "an encrypted hello",
      hello([good, { type: 0xfe0d, content: Buffer.alloc(8) }]),
      "its client hello is encrypted",
    ],
    ["an encrypted hello of a draft", hello([{ type: 0xffce, content: Buffer.alloc(8) }, good]), "encrypted"],
    ["a length that lies", Buffer.from([22, 3, 1, 0, 5, 1, 0xff, 0xff, 0xff, 0]), "too long"],
    [
      "a hello that ends inside of itself",
      Buffer.from([22, 3, 1, 0, 8, 1, 0, 0, 4, 3, 3, 0, 0]),
      "malformed",
    ],
  ])("is refused for %s", (_what, bytes, why) => {
    expect(readClientHello(bytes)).toMatchObject({ kind: "refused", why: expect.stringContaining(why) });
  });

  it("is found in one record and in many, and nothing is decided before it has arrived", () => {
    for (const recordBytes of [16_384, 40, 1]) {
      const bytes = hello([other, good], { recordBytes });
      expect(readClientHello(bytes)).toEqual({ kind: "name", name: "api.test" });
      for (let length = 0; length < bytes.length; length++)
        expect(readClientHello(bytes.subarray(0, length))).toEqual({ kind: "more" });
    }
  });

  it("is waited for only as long as it can be one", () => {
    const endless = Buffer.concat(Array.from({ length: 20_000 }, () => Buffer.from([22, 3, 1, 0, 1, 0])));
    expect(readClientHello(endless).kind).toBe("refused");
    const slow = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0x40, 0]), Buffer.alloc(16_500)]);
    expect(readClientHello(slow).kind).toBe("refused");
  });
});
