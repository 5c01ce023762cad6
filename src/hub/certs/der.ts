import { WritError } from "../../core/errors.ts";

/** One ASN.1 value in DER: its tag and its content. */
export type DerValue = { tag: number; content: Buffer };

export const derTags = {
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
} as const;

/** A certificate is small and shallow; anything with more parts is not a certificate. */
const valuesMax = 1000;

/** The consecutive values in these bytes. Only definite lengths in their shortest form are accepted. */
export function readDer(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (values.length === valuesMax) throw broken();
    const { length, start } = readLength(bytes, at + 1);
    if (start + length > bytes.length) throw broken();
    values.push({ tag: bytes[at]!, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return values;
}

/** The values inside one that must have this tag. */
export function insideDer(value: DerValue | undefined, tag: number): DerValue[] {
  if (value === undefined || value.tag !== tag) throw broken();
  return readDer(value.content);
}

function readLength(bytes: Buffer, at: number): { length: number; start: number } {
  const first = bytes[at];
  if (first === undefined) throw broken();
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first & 0x7f;
  // Three bytes of length are 16 MiB, far more than a handshake carries.
  if (count === 0 || count > 3 || at + 1 + count > bytes.length) throw broken();
  const length = bytes.readUIntBE(at + 1, count);
  if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw broken();
  return { length, start: at + 1 + count };
}

function broken(): WritError {
  return new WritError("UNAUTHENTICATED", "the certificate cannot be read");
}
