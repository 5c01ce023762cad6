/** The values of one column, for any number of rows, in the binary form of an array of PostgreSQL. Why: ADR 0087. */
export type ColumnKind = keyof typeof kinds;
export type ColumnValue = string | number | boolean | Uint8Array | null | undefined;

/** The type of the parameter in a statement, and the number under which the server knows the type of its elements. */
const kinds = {
  bigint: { type: "bigint[]", oid: 20, sizeOf: () => 8, put: putInteger },
  text: { type: "text[]", oid: 25, sizeOf: Buffer.byteLength, put: putText },
  boolean: { type: "boolean[]", oid: 16, sizeOf: () => 1, put: putBoolean },
  bytea: { type: "bytea[]", oid: 17, sizeOf: (value: Uint8Array) => value.byteLength, put: putBytes },
} as const;

type Kind = {
  type: string;
  oid: number;
  sizeOf(value: ColumnValue): number;
  put(into: Buffer, value: ColumnValue, at: number): number;
};

export function columnType(kind: ColumnKind): string {
  return kinds[kind].type;
}

/** For FROM: rows whose columns are the parameters of the statement. */
export function rowsOf(columns: readonly { name: string; kind: ColumnKind }[]): string {
  const parameters = columns.map(({ kind }, index) => `$${index + 1}::${columnType(kind)}`);
  return `unnest(${parameters.join(", ")}) AS r (${columns.map(({ name }) => name).join(", ")})`;
}

const headBytes = 20;
const lengthBytes = 4;

/**
 * An array with one dimension. Nothing in it is quoted, by us or by the server, and each text is written once: as JSON, the
 * rows of a group took both sides several times as long.
 */
export function encodeColumn(kind: ColumnKind, values: readonly ColumnValue[]): Buffer {
  const { oid, sizeOf, put } = kinds[kind] as Kind;
  const clean = kind === "text" ? values.map(withoutNul) : values;
  let bytes = headBytes;
  for (const value of clean) bytes += lengthBytes + (value == null ? 0 : sizeOf(value));
  const buffer = Buffer.allocUnsafe(bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(clean.some((value) => value == null) ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(clean.length, 12);
  buffer.writeInt32BE(1, 16);
  let at = headBytes;
  for (const value of clean) {
    const written = value == null ? 0 : put(buffer, value, at + lengthBytes);
    buffer.writeInt32BE(value == null ? -1 : written, at);
    at += lengthBytes + written;
  }
  return buffer;
}

/** A text of PostgreSQL holds every character but one. Half of a surrogate pair is replaced when it is written. */
function withoutNul(value: ColumnValue): ColumnValue {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}

function putText(into: Buffer, value: ColumnValue, at: number): number {
  return into.write(value as string, at, "utf8");
}

/** All our numbers are safe integers. */
function putInteger(into: Buffer, value: ColumnValue, at: number): number {
  const high = Math.floor((value as number) / 2 ** 32);
  into.writeInt32BE(high, at);
  into.writeUInt32BE((value as number) - high * 2 ** 32, at + 4);
  return 8;
}

function putBoolean(into: Buffer, value: ColumnValue, at: number): number {
  into[at] = value === true ? 1 : 0;
  return 1;
}

function putBytes(into: Buffer, value: ColumnValue, at: number): number {
  into.set(value as Uint8Array, at);
  return (value as Uint8Array).byteLength;
}
