const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A job id as the hub accepts it: a lower-case UUID of version 4 or 7. */
export function isJobId(text: string): boolean {
  return uuidPattern.test(text);
}

/** Where new ids and secrets come from; tests and simulations provide their own. */
export type Ids = {
  jobId(nowMs: number): string;
  /** A secret of 256 random bits, as base64url. */
  secret(): string;
  /** The token of one lease: 192 random bits, as base64url. */
  leaseToken(): string;
  /** A short public id for a record; not a secret. */
  recordId(): string;
};

/** UUID version 7: 48 bits of milliseconds, then random bits, so that ids made later sort later. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  bytes.set(random.subarray(0, 16));
  for (let i = 0, rest = nowMs; i < 6; i++) {
    bytes[5 - i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = hexOf(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hexOf(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += hexOfByte[byte];
  return hex;
}
