import { type Buffer, isUtf8 } from "node:buffer";
import {
  doubleBytes,
  type EnumTable,
  type MessageOf,
  mapEntry,
  varintBytesMax,
  type WireField,
  type WireMessage,
  wireTypes,
} from "./wire-message.ts";

const twoTo32 = 2 ** 32;

/** Throws if the bytes are not such a message. Unknown fields are skipped. Why: ADR 0115. */
export function decodeMessage<M extends WireMessage>(table: M, bytes: Buffer): MessageOf<M> {
  const fields = fieldsOf(table);
  const message: Record<string, unknown> = {};
  for (const name in table) message[name] = emptyValue(table[name]!);
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const { number, value } = reader.field();
    const known = fields.get(number);
    if (known !== undefined) put(message, known, value);
  }
  return message as MessageOf<M>;
}

type Known = { name: string; field: WireField };
type WireValue = Integer | Buffer;
type Integer = { low: number; high: number };

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

function emptyValue(field: WireField): unknown {
  if (field.kind === "map") return {};
  if (field.count === "repeated") return [];
  if (field.count === "optional" || field.kind === "message") return undefined;
  if (field.kind === "string") return "";
  if (field.kind === "bytes") return new Uint8Array(0);
  if (field.kind === "bool") return false;
  return field.kind === "enum" ? nameIn(field.of, 0) : 0;
}

function put(message: Record<string, unknown>, { name, field }: Known, sent: WireValue): void {
  if (field.kind === "map") {
    const { key, value } = decodeMessage(mapEntry, bytesOf(sent));
    // Defined and not assigned, because a key may be `__proto__`.
    const entry = { value: value ?? "", enumerable: true, writable: true, configurable: true };
    Object.defineProperty(message[name], key ?? "", entry);
  } else if (field.count === "repeated") (message[name] as unknown[]).push(readValue(field, sent));
  else message[name] = readValue(field, sent);
}

function readValue(field: Exclude<WireField, { kind: "map" }>, sent: WireValue): unknown {
  if (field.kind === "string") return textOf(bytesOf(sent));
  if (field.kind === "bytes") return bytesOf(sent);
  if (field.kind === "message") return decodeMessage(field.of, bytesOf(sent));
  if (field.kind === "double") return bytesOf(sent, doubleBytes).readDoubleLE();
  if (sent instanceof Uint8Array) return refuse();
  return field.kind === "enum" ? nameIn(field.of, toNumber.int32(sent)) : toNumber[field.kind](sent);
}

function bytesOf(sent: WireValue, size?: number): Buffer {
  const isRight = sent instanceof Uint8Array && (size === undefined || sent.length === size);
  return isRight ? sent : refuse();
}

function textOf(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString("utf8") : refuse();
}

function nameIn(names: EnumTable, number: number): string | number {
  for (const name in names) if (names[name] === number) return name;
  return number;
}

const toNumber = {
  bool: ({ low, high }: Integer) => low !== 0 || high !== 0,
  int32: ({ low }: Integer) => low | 0,
  uint32: ({ low }: Integer) => low >>> 0,
  int64: ({ low, high }: Integer) => (high | 0) * twoTo32 + (low >>> 0),
  uint64: ({ low, high }: Integer) => (high >>> 0) * twoTo32 + (low >>> 0),
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

  field(): { number: number; value: WireValue } {
    const tag = toNumber.uint32(this.#varint());
    return tag < 8 ? refuse() : { number: tag >>> 3, value: this.#value(tag & 7) };
  }

  #value(wireType: number): WireValue {
    if (wireType === wireTypes.varint) return this.#varint();
    if (wireType === wireTypes.withLength) return this.#take(toNumber.uint64(this.#varint()));
    if (wireType === wireTypes.eightBytes) return this.#take(doubleBytes);
    return wireType === wireTypes.fourBytes ? this.#take(4) : refuse();
  }

  /** The lowest bits come first, of at most 64. */
  #varint(): Integer {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 7 * varintBytesMax; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? refuse();
      const bits = byte & 127;
      if (shift < 32) low |= bits << shift;
      if (shift > 25) high |= shift < 32 ? bits >> (32 - shift) : bits << (shift - 32);
      if (byte < 128) return { low, high };
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
  throw new Error("these bytes are not the message that was expected");
}
