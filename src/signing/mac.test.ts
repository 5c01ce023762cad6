import { describe, expect, test } from "vitest";
import { checkSeal, generateMacKey, sealDocument, sha256Hex } from "./mac.ts";

const macKey = Buffer.alloc(32, 7);
const sealed = { document: '{"a":1}', routing: "tenant|exec" };

describe("checkSeal refuses", () => {
  const mac = sealDocument(macKey, sealed);

  test("one flipped bit anywhere in the MAC", () => {
    for (let bit = 0; bit < 256; bit++) {
      const flipped = Buffer.from(mac);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(checkSeal(macKey, sealed, flipped)).toBe(false);
    }
  });

  test("an edited document, edited routing and another key", () => {
    expect(checkSeal(macKey, { ...sealed, document: '{"a":2}' }, mac)).toBe(false);
    expect(checkSeal(macKey, { ...sealed, routing: "other|exec" }, mac)).toBe(false);
    expect(checkSeal(generateMacKey(), sealed, mac)).toBe(false);
  });

  test("a moved border between document and routing", () => {
    expect(checkSeal(macKey, { document: '{"a":1}t', routing: "enant|exec" }, mac)).toBe(false);
    // Were only the routing's length written, both of these would be the bytes "x4:a1:b".
    const plain = sealDocument(macKey, { document: "x", routing: "a1:b" });
    expect(checkSeal(macKey, { document: "x4:a", routing: "b" }, plain)).toBe(false);
  });

  test("a MAC of another length", () => {
    expect(checkSeal(macKey, sealed, mac.subarray(0, 31))).toBe(false);
    expect(checkSeal(macKey, sealed, Buffer.concat([mac, Buffer.alloc(1)]))).toBe(false);
    expect(checkSeal(macKey, sealed, new Uint8Array())).toBe(false);
  });

  test("a MAC key that is too short", () => {
    expect(() => sealDocument(Buffer.alloc(16), sealed)).toThrow(
      expect.objectContaining({ code: "KEY_REJECTED" }),
    );
  });
});

test("a seal fits what was sealed, also as the plain bytes that a database gives back", () => {
  expect(checkSeal(macKey, sealed, new Uint8Array(sealDocument(macKey, sealed)))).toBe(true);
});

test("sha256Hex hashes strings as UTF-8", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256Hex("é")).toBe(sha256Hex(Buffer.from([0xc3, 0xa9])));
});
