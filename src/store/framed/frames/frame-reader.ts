import { hash } from "node:crypto";
import { genuineNumber, listedEntries, type PayloadName } from "../../frames/frame.ts";
import type { Connection } from "../../sqlite/database/connection.ts";
import { readFrameHead, readPayload } from "./frame-rows.ts";

/** Frames whose heads were checked a moment ago are not checked again; what is kept is at most this large. */
const keptBytesMax = 32 * 1024 ** 2;

/**
 * `kept`: the bytes that were written. `removed`: retention has taken them. `damaged`: they are others. `unlisted`: the head of the
 * frame is damaged or gone, so that nobody can say.
 */
type FoundEntry = { state: "kept" | "removed" | "damaged" | "unlisted"; text: string };

type OpenFrame = {
  head: Buffer;
  isGenuine: boolean;
  bytes: number;
  payloads: Map<PayloadName, OpenPayload>;
};
type OpenPayload = { bytes: Buffer | null; starts: Uint32Array; hashesAt: number };

/** Reads entries of frames, and remembers the frames that were read last. */
export class FrameReader {
  readonly #sql: Connection;
  readonly #macKey: Buffer;
  readonly #frames = new Map<number, OpenFrame>();
  #bytes = 0;

  constructor(sql: Connection, macKey: Buffer) {
    this.#sql = sql;
    this.#macKey = macKey;
  }

  entry(number: number, name: PayloadName, index: number): FoundEntry {
    const frame = this.#frame(number);
    if (!frame.isGenuine) return { state: "unlisted", text: this.plain(number, name, index) };
    const { bytes, starts, hashesAt } = this.#payload(number, frame, name);
    if (index >= starts.length - 1) return { state: "unlisted", text: "" };
    const entry = bytes?.subarray(starts[index], starts[index + 1]) ?? Buffer.alloc(0);
    const listed = frame.head.subarray(hashesAt + 36 * index, hashesAt + 36 * index + 32);
    const isWhole = entry.length === starts[index + 1]! - starts[index]!;
    if (isWhole && hash("sha256", entry, "buffer").equals(listed))
      return { state: "kept", text: entry.toString("utf8") };
    const isGone = bytes === null || (isWhole && entry.every((byte) => byte === 0));
    return { state: isGone ? "removed" : "damaged", text: isGone ? "" : entry.toString("utf8") };
  }

  /** The text of an entry without any check. */
  plain(number: number, name: PayloadName, index: number): string {
    const { bytes, starts } = this.#payload(number, this.#frame(number), name);
    return bytes?.toString("utf8", starts[index], starts[index + 1]) ?? "";
  }

  /** The hash that the head lists for an entry. */
  hash(number: number, name: PayloadName, index: number): string {
    const frame = this.#frame(number);
    const { hashesAt } = this.#payload(number, frame, name);
    return frame.head.toString("hex", hashesAt + 36 * index, hashesAt + 36 * index + 32);
  }

  /** All entries of a payload with their hashes, without a check of the MAC: as anybody can read them. */
  entries(number: number, name: PayloadName): { text: string; sha256: string; isKept: boolean }[] {
    const frame = this.#frame(number);
    const { bytes, starts, hashesAt } = this.#payload(number, frame, name);
    return Array.from({ length: starts.length - 1 }, (_, index) => {
      const entry = bytes?.subarray(starts[index], starts[index + 1]) ?? Buffer.alloc(0);
      const sha256 = frame.head.toString("hex", hashesAt + 36 * index, hashesAt + 36 * index + 32);
      const isKept = bytes !== null && !(entry[0] === 0 && entry.every((byte) => byte === 0));
      return { text: entry.toString("utf8"), sha256, isKept };
    });
  }

  /** The bytes of it have changed. */
  forget(number: number): void {
    this.#bytes -= this.#frames.get(number)?.bytes ?? 0;
    this.#frames.delete(number);
  }

  clear(): void {
    this.#frames.clear();
    this.#bytes = 0;
  }

  #frame(number: number): OpenFrame {
    const known = this.#frames.get(number);
    if (known !== undefined) return known;
    const head = readFrameHead(this.#sql, number) ?? Buffer.alloc(0);
    const frame = {
      head,
      isGenuine: genuineNumber(this.#macKey, head) === number,
      bytes: head.length,
      payloads: new Map(),
    };
    this.#keep(frame.bytes);
    this.#frames.set(number, frame);
    return frame;
  }

  #payload(number: number, frame: OpenFrame, name: PayloadName): OpenPayload {
    let payload = frame.payloads.get(name);
    if (payload === undefined) {
      const bytes = readPayload(this.#sql, number, name);
      const { starts, listAt } = listedEntries(frame.head, name);
      payload = { bytes, starts, hashesAt: listAt + 4 };
      frame.payloads.set(name, payload);
      frame.bytes += bytes?.length ?? 0;
      this.#keep(bytes?.length ?? 0);
    }
    return payload;
  }

  /** The frame that was opened first goes first; it is the one least likely to be read again. */
  #keep(bytes: number): void {
    this.#bytes += bytes;
    for (const [number] of this.#frames) {
      if (this.#bytes <= keptBytesMax) return;
      this.forget(number);
    }
  }
}
