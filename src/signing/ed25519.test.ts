import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  generateSigningKey,
  keyIdOf,
  loadSigningKey,
  loadVerifyingKey,
  signText,
  verifyText,
} from "./ed25519.ts";
import { sha256Hex } from "./mac.ts";

const fieldPrime = 2n ** 255n - 19n;
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
const spkiHead = Buffer.from("302a300506032b6570032100", "hex");
const rejected = expect.objectContaining({ code: "KEY_REJECTED" });

const smallOrderKeys = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

describe("loadVerifyingKey refuses", () => {
  test.each(smallOrderKeys)("the small-order point %s", (hex) => {
    expect(() => loadVerifyingKey(publicPem(Buffer.from(hex, "hex")))).toThrow(rejected);
  });

  test("every encoding that is not canonical: y at or above the prime, with either sign", () => {
    for (let excess = 0n; excess < 19n; excess++) {
      expect(() => loadVerifyingKey(publicPem(encodePoint(fieldPrime + excess, 0n)))).toThrow(rejected);
      expect(() => loadVerifyingKey(publicPem(encodePoint(fieldPrime + excess, 1n)))).toThrow(rejected);
    }
  });

  test("a sign on an x of zero", () => {
    expect(() => loadVerifyingKey(publicPem(encodePoint(1n, 1n)))).toThrow(rejected);
    expect(() => loadVerifyingKey(publicPem(encodePoint(fieldPrime - 1n, 1n)))).toThrow(rejected);
  });

  test("other kinds of keys, private keys, several blocks and rubbish", () => {
    const { privateKeyPem, signingKey } = generateSigningKey();
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
    const x25519 = generateKeyPairSync("x25519").publicKey;
    const pems = [
      rsa.export({ type: "spki", format: "pem" }) as string,
      x25519.export({ type: "spki", format: "pem" }) as string,
      privateKeyPem,
      signingKey.publicKeyPem + signingKey.publicKeyPem,
      signingKey.publicKeyPem.slice(0, 60),
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
      "",
      null as unknown as string,
    ];
    for (const pem of pems) expect(() => loadVerifyingKey(pem)).toThrow(rejected);
  });
});

test("the eight small-order points are eight different points whose eightfold is the identity", () => {
  const points = smallOrderKeys.map((hex) => decodePoint(Buffer.from(hex, "hex")));
  expect(new Set(points.map(String)).size).toBe(8);
  for (const point of points) {
    const eightfold = [1, 2, 3].reduce((sum) => addPoints(sum, sum), point);
    expect(eightfold).toEqual([0n, 1n]);
  }
});

describe("loadSigningKey refuses", () => {
  test("public keys, other kinds and rubbish, and never quotes the key", () => {
    const { privateKeyPem, signingKey } = generateSigningKey();
    const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const cut = privateKeyPem.replace("MC4C", "MC4D");
    const pems = [
      signingKey.publicKeyPem,
      ec.export({ type: "pkcs8", format: "pem" }) as string,
      ec.export({ type: "sec1", format: "pem" }) as string,
      cut,
      `${privateKeyPem}${privateKeyPem}`,
    ];
    for (const pem of pems) expect(() => loadSigningKey(pem)).toThrow(rejected);
    const secret = privateKeyPem.split("\n")[1] as string;
    expect(() => loadSigningKey(cut)).toThrow(expect.not.stringContaining(secret.slice(8)));
  });
});

describe("verifyText refuses", () => {
  const { signingKey } = generateSigningKey();
  const key = loadVerifyingKey(signingKey.publicKeyPem);
  const text = '{"a":1}';
  const signature = signText(signingKey, text);
  const encoded = signature.slice("base64:".length);
  const bytes = Buffer.from(encoded, "base64");

  test("one flipped bit anywhere in the signature", () => {
    for (let bit = 0; bit < 512; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(verifyText(key, text, `base64:${flipped.toString("base64")}`)).toBe(false);
    }
  });

  test("lax, url-safe, padded, cut and doubled spellings of a good signature", () => {
    const lastBitsSet = `${encoded.slice(0, 85)}${nextBase64Char(encoded[85] as string)}==`;
    expect(Buffer.from(lastBitsSet, "base64").equals(bytes)).toBe(true);
    const spellings = [
      lastBitsSet,
      encoded.slice(0, 86),
      `${encoded.slice(0, 86)}=`,
      `${encoded}=`,
      `${encoded}\n`,
      ` ${encoded}`,
      `${encoded.slice(0, 40)}\n${encoded.slice(40)}`,
      `${encoded.slice(0, 40)}!${encoded.slice(40)}`,
      `base64:${encoded}`,
      bytes.toString("base64url"),
      bytes.subarray(0, 63).toString("base64"),
      Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64"),
      "",
    ].map((spelling) => `base64:${spelling}`);
    const withoutPrefix = [encoded, `BASE64:${encoded}`, "", "base64"];
    for (const spelling of [...spellings, ...withoutPrefix])
      expect(verifyText(key, text, spelling)).toBe(false);
  });

  test("what is not a string", () => {
    for (const value of [null, undefined, 1, [], [signature], { length: 95 }]) {
      expect(verifyText(key, text, value as unknown as string)).toBe(false);
      expect(verifyText(key, value as unknown as string, signature)).toBe(false);
    }
  });

  test("a signature whose scalar was raised by the order of the group", () => {
    const scalar = littleEndian(bytes.subarray(32)) + groupOrder;
    const raised = Buffer.concat([bytes.subarray(0, 32), encodePoint(scalar, 0n)]);
    expect(verifyText(key, text, `base64:${raised.toString("base64")}`)).toBe(false);
  });

  test("a lone surrogate, which would have the bytes of U+FFFD", () => {
    const replaced = signText(signingKey, "\ufffd");
    expect(verifyText(key, "\ufffd", replaced)).toBe(true);
    expect(verifyText(key, "\ud800", replaced)).toBe(false);
    expect(() => signText(signingKey, "\ud800")).toThrow(expect.objectContaining({ code: "INVALID_JSON" }));
  });

  test("another key and another text", () => {
    const other = loadVerifyingKey(generateSigningKey().signingKey.publicKeyPem);
    expect(verifyText(other, text, signature)).toBe(false);
    expect(verifyText(key, `${text} `, signature)).toBe(false);
  });
});

test("a signature made by the private key verifies under the public key", () => {
  const { signingKey, privateKeyPem } = generateSigningKey();
  const signature = signText(loadSigningKey(privateKeyPem), "héllo");
  expect(signature).toMatch(/^base64:[A-Za-z0-9+/]{86}==$/);
  expect(verifyText(loadVerifyingKey(signingKey.publicKeyPem), "héllo", signature)).toBe(true);
});

test("the first vector of RFC 8032 comes out as printed there", () => {
  const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const key = loadSigningKey(privateKey.export({ type: "pkcs8", format: "pem" }) as string);
  expect(Buffer.from(signText(key, "").slice(7), "base64").toString("hex")).toBe(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  );
});

test("the key id is the head of the SHA-256 of the public key's DER", () => {
  const { signingKey } = generateSigningKey();
  const publicKey = createPublicKey(signingKey.publicKeyPem);
  const der = publicKey.export({ type: "spki", format: "der" });
  expect(keyIdOf(publicKey)).toBe(sha256Hex(der).slice(0, 16));
  expect(signingKey.keyId).toBe(keyIdOf(publicKey));
});

function publicPem(point: Buffer): string {
  const base64 = Buffer.concat([spkiHead, point]).toString("base64");
  return `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`;
}

function encodePoint(y: bigint, sign: bigint): Buffer {
  const hex = (y | (sign << 255n)).toString(16).padStart(64, "0");
  return Buffer.from(hex, "hex").reverse();
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}

function nextBase64Char(char: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return alphabet[alphabet.indexOf(char) + 1] as string;
}

type Point = [bigint, bigint];

/** The curve -x² + y² = 1 + d·x²·y² in plain arithmetic, independent of the list in the code under test. */
function decodePoint(encoded: Buffer): Point {
  const number = littleEndian(encoded);
  const y = number & (2n ** 255n - 1n);
  const square = modulo((y * y - 1n) * inverse(curveD() * y * y + 1n));
  let x = power(square, (fieldPrime + 3n) / 8n);
  if (modulo(x * x - square) !== 0n) x = modulo(x * power(2n, (fieldPrime - 1n) / 4n));
  expect(modulo(x * x - square)).toBe(0n);
  return [(x & 1n) === number >> 255n ? x : modulo(-x), y];
}

function addPoints([x1, y1]: Point, [x2, y2]: Point): Point {
  const product = curveD() * x1 * x2 * y1 * y2;
  return [
    modulo((x1 * y2 + x2 * y1) * inverse(1n + product)),
    modulo((y1 * y2 + x1 * x2) * inverse(1n - product)),
  ];
}

function curveD(): bigint {
  return modulo(-121665n * inverse(121666n));
}

function inverse(value: bigint): bigint {
  return power(modulo(value), fieldPrime - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let factor = modulo(base), rest = exponent; rest > 0n; rest >>= 1n, factor = modulo(factor * factor)) {
    if ((rest & 1n) === 1n) result = modulo(result * factor);
  }
  return result;
}

function modulo(value: bigint): bigint {
  return ((value % fieldPrime) + fieldPrime) % fieldPrime;
}
