import { Buffer } from "node:buffer";
import {
  doubleBytes,
  type EnumTable,
  type MessageInit,
  mapEntry,
  varintBytesMax,
  type WireField,
  type WireMessage,
  wireTypes,
} from "./wire-message.ts";

/** A message as protobuf writes it. Why: ADR 0115. */
export function encodeMessage<M extends WireMessage>(table: M, message: MessageInit<M>): Buffer {
  const writer = new Writer();
  for (const name in table) {
    const value: unknown = message[name];
    if (value !== undefined && value !== null) writeField(writer, table[name]!, value);
  }
  return writer.written;
}

function writeField(writer: Writer, field: WireField, value: unknown): void {
  if (field.kind === "map") {
    for (const [key, text] of Object.entries(value as object)) {
      writeValue(writer, { ...field, kind: "message", of: mapEntry }, { key, value: text });
    }
  } else if (field.count === "repeated") {
    for (const each of value as readonly unknown[]) writeValue(writer, field, each);
  } else if (field.count === "optional" || field.kind === "message" || !isEmpty(field, value)) {
    writeValue(writer, field, value);
  }
}

function isEmpty(field: WireField, value: unknown): boolean {
  if (field.kind === "enum") return numberIn(field.of, value) === 0;
  return !value || (value instanceof Uint8Array && value.length === 0);
}

function writeValue(writer: Writer, field: WireField, value: unknown): void {
  const tag = (wireType: number): void => writer.varint(field.number * 8 + wireType);
  if (field.kind === "double") {
    tag(wireTypes.eightBytes);
    writer.double(value as number);
  } else if (field.kind === "string") {
    tag(wireTypes.withLength);
    writer.text(value as string);
  } else if (field.kind === "bytes") {
    tag(wireTypes.withLength);
    writer.bytes(value as Uint8Array);
  } else if (field.kind === "message") {
    tag(wireTypes.withLength);
    writer.bytes(encodeMessage(field.of, value as object));
  } else {
    tag(wireTypes.varint);
    writer.varint(field.kind === "enum" ? numberIn(field.of, value) : Number(value));
  }
}

function numberIn(names: EnumTable, value: unknown): number {
  return typeof value === "number" ? value : (names[value as string] ?? 0);
}

class Writer {
  #buffer = Buffer.allocUnsafe(256);
  #at = 0;

  get written(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  /** A negative number takes all ten bytes, as if it had 64 bits. */
  varint(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
    this.#reserve(varintBytesMax);
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 127n; rest >>= 7n) this.#buffer[this.#at++] = Number(rest & 127n) | 128;
      this.#buffer[this.#at++] = Number(rest);
    } else {
      let rest = value;
      for (; rest > 127; rest = Math.floor(rest / 128)) this.#buffer[this.#at++] = (rest % 128) | 128;
      this.#buffer[this.#at++] = rest;
    }
  }

  double(value: number): void {
    this.#reserve(doubleBytes);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.varint(size);
    this.#reserve(size);
    this.#at += this.#buffer.write(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + size));
    larger.set(this.written);
    this.#buffer = larger;
  }
}
