import { Buffer } from "node:buffer";
import type { WireField, WireKind, WireMessage } from "../../contract/job-wire.ts";
import { WritError } from "../../core/errors.ts";

/** A message with the names of its table. 64-bit numbers are bigint, and what was not sent has its default. */
export type Plain = Record<string, unknown>;

const varintType = 0;
const eightBytesType = 1;
const withLengthType = 2;
const fourBytesType = 5;
/** Seven bits in each byte. */
const varintBytesMax = 10;
const doubleBytes = 8;

// Both are sent even if they are empty.
const mapEntry = {
  key: { number: 1, kind: "string", count: "optional" },
  value: { number: 2, kind: "string", count: "optional" },
} as const satisfies WireMessage;

/** Encodes a message as protobuf. Defaults and undefined values are left out. */
export function encodeMessage(table: WireMessage, message: Readonly<Plain>): Buffer {
  const parts: Uint8Array[] = [];
  for (const [name, field] of Object.entries(table)) {
    for (const value of valuesOf(field, message[name])) parts.push(...encodeField(field, value));
  }
  return Buffer.concat(parts);
}

function valuesOf({ kind, count }: WireField, value: unknown): unknown[] {
  if (value === undefined) return [];
  if (kind === "map") return Object.entries(value as object).map(([key, text]) => ({ key, value: text }));
  if (count === "repeated") return value as unknown[];
  const isSent = count === "optional" || typeof kind === "object" || !isDefault(value);
  return isSent ? [value] : [];
}

function isDefault(value: unknown): boolean {
  return !value || (value instanceof Uint8Array && value.length === 0);
}

function encodeField({ number, kind }: WireField, value: unknown): Uint8Array[] {
  const tag = (wireType: number) => encodeVarint(BigInt(number * 8 + wireType));
  if (kind === "double") {
    const bytes = Buffer.alloc(doubleBytes);
    bytes.writeDoubleLE(value as number);
    return [tag(eightBytesType), bytes];
  }
  const bytes = encodeBytes(kind, value);
  if (bytes === undefined) return [tag(varintType), encodeVarint(BigInt(value as number | bigint | boolean))];
  return [tag(withLengthType), encodeVarint(BigInt(bytes.length)), bytes];
}

function encodeBytes(kind: WireField["kind"], value: unknown): Uint8Array | undefined {
  if (kind === "string") return Buffer.from(value as string);
  if (kind === "bytes") return value as Uint8Array;
  if (kind === "map") return encodeMessage(mapEntry, value as Plain);
  return typeof kind === "object" ? encodeMessage(kind, value as Plain) : undefined;
}

/** A negative number takes all ten bytes, as if it had 64 bits. */
function encodeVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.from([...bytes, Number(rest)]);
}

/** Decodes a protobuf message. Unknown fields are skipped. */
export function decodeMessage(table: WireMessage, bytes: Buffer): Plain {
  const fields = fieldsOf(table);
  const message = emptyMessage(table);
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const { number, value } = reader.field();
    const known = fields.get(number);
    if (known !== undefined) put(message, known, value);
  }
  return message;
}

type Known = { name: string; field: WireField };

// A page of jobs contains each kind of message a thousand times.
const fieldsByTable = new WeakMap<WireMessage, ReadonlyMap<number, Known>>();

function fieldsOf(table: WireMessage): ReadonlyMap<number, Known> {
  const found = fieldsByTable.get(table);
  if (found !== undefined) return found;
  const entries = Object.entries(table).map(([name, field]) => [field.number, { name, field }] as const);
  const fields = new Map<number, Known>(entries);
  fieldsByTable.set(table, fields);
  return fields;
}

function emptyMessage(table: WireMessage): Plain {
  const message: Plain = {};
  for (const name in table) message[name] = defaultOf(table[name]!);
  return message;
}

// Only requests contain a map, and nothing here reads those.
const defaults: Record<WireKind | "map", unknown> = {
  map: undefined,
  string: "",
  bytes: new Uint8Array(0),
  bool: false,
  int32: 0,
  uint32: 0,
  int64: 0n,
  uint64: 0n,
  double: 0,
};

function defaultOf({ kind, count }: WireField): unknown {
  if (count === "repeated") return [];
  return count === "optional" || typeof kind === "object" ? undefined : defaults[kind];
}

function put(message: Plain, { name, field: { kind, count } }: Known, sent: bigint | Buffer): void {
  const value = decodeValue(kind, sent);
  if (count === "repeated") (message[name] as unknown[]).push(value);
  else message[name] = value;
}

function decodeValue(kind: WireField["kind"], sent: bigint | Buffer): unknown {
  if (typeof sent === "bigint") return isInteger(kind) ? toInteger[kind](sent) : refuse();
  if (kind === "string") return sent.toString("utf8");
  if (kind === "bytes") return sent;
  if (kind === "double" && sent.length === doubleBytes) return sent.readDoubleLE();
  return typeof kind === "object" ? decodeMessage(kind, sent) : refuse();
}

function isInteger(kind: WireField["kind"]): kind is keyof typeof toInteger {
  return typeof kind === "string" && Object.hasOwn(toInteger, kind);
}

const toInteger = {
  bool: (sent: bigint) => sent !== 0n,
  int32: (sent: bigint) => Number(BigInt.asIntN(32, sent)),
  uint32: (sent: bigint) => Number(BigInt.asUintN(32, sent)),
  int64: (sent: bigint) => BigInt.asIntN(64, sent),
  uint64: (sent: bigint) => BigInt.asUintN(64, sent),
} as const;

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  field(): { number: number; value: bigint | Buffer } {
    const tag = this.#small();
    return { number: Math.floor(tag / 8), value: this.#value(tag % 8) };
  }

  #value(wireType: number): bigint | Buffer {
    if (wireType === varintType) return this.#varint();
    if (wireType === withLengthType) return this.#take(this.#small());
    if (wireType === eightBytesType) return this.#take(doubleBytes);
    return wireType === fourBytesType ? this.#take(4) : refuse();
  }

  /** Tags and lengths, most of which are one byte; bigints are slow. */
  #small(): number {
    const byte = this.#bytes[this.#at] ?? refuse();
    if (byte > 127) return Number(this.#varint());
    this.#at += 1;
    return byte;
  }

  #varint(): bigint {
    let value = 0n;
    for (let index = 0; index < varintBytesMax; index++) {
      const byte = this.#bytes[this.#at++] ?? refuse();
      value |= BigInt(byte & 127) << BigInt(7 * index);
      if (byte < 128) return value;
    }
    return refuse();
  }

  #take(size: number): Buffer {
    if (size > this.#bytes.length - this.#at) refuse();
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}

function refuse(): never {
  throw new WritError("HTTP_ERROR", "the hub sent a message that is not one of JobService");
}
