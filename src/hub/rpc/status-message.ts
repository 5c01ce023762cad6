/**
 * Text as gRPC encodes it in `grpc-message`: only non-ASCII characters and the percent sign are encoded. Some clients
 * decode no more than that, and would show a colon as %3A.
 */
export function statusMessage(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
