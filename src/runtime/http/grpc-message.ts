/** Flag and length in front of every message. */
export const prefixBytes = 5;

/** One message of gRPC with its prefix, not compressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}
