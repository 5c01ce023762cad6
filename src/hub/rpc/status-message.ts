/** Many clients refuse a call whose headers have more than 8 KiB, and then show neither the message nor its code. */
const encodedCharsMax = 4_096;

/**
 * Text as gRPC encodes it in `grpc-message`: only non-ASCII characters and the percent sign are encoded. Some clients
 * decode no more than that, and would show a colon as %3A. What is too long is cut between two characters.
 */
export function statusMessage(text: string): string {
  let encoded = "";
  for (const character of text) {
    const next = encode(character);
    if (encoded.length + next.length > encodedCharsMax) return `${encoded}...`;
    encoded += next;
  }
  return encoded;
}

function encode(character: string): string {
  let encoded = "";
  for (const byte of Buffer.from(character)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
