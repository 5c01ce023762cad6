import { WritError } from "../core/errors.ts";

/** The field of Curve25519: coordinates are numbers below it. */
const fieldPrime = 2n ** 255n - 19n;

/** The y coordinate of one point of order 8; the other three share it or its negative. */
const order8Y = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;

/** The eight points of small order have only these five y coordinates; the sign of x makes no difference. */
const smallOrderYs = new Set([0n, 1n, fieldPrime - 1n, order8Y, fieldPrime - order8Y]);

/**
 * Refuses an encoded Ed25519 public key that is of small order, under which one signature can fit many messages, or
 * that is not the canonical encoding of its point, so that one key would have two ids. This is checked here because
 * verifiers differ: OpenSSL 3.0 accepts forgeries under small-order keys, while 3.5 in Node 26 was seen to refuse them.
 */
export function refuseWeakPoint(encoded: Uint8Array): void {
  const digits = [...encoded].reverse().map((byte) => byte.toString(16).padStart(2, "0"));
  const y = BigInt(`0x${digits.join("")}`) & (2n ** 255n - 1n);
  if (y >= fieldPrime) throw new WritError("KEY_REJECTED", "the public key is not canonically encoded");
  if (smallOrderYs.has(y)) throw new WritError("KEY_REJECTED", "the public key is of small order");
}
