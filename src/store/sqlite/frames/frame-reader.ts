import { hash } from "node:crypto";
import { sha256Hex } from "../../../signing/mac.ts";
import { genuineNumber, listedEntries, listedHash, type PayloadName, readHead } from "../../frames/frame.ts";
import { type JobLine, readJobLine } from "../../frames/job-line.ts";
import { readPacked } from "../../frames/packed-text.ts";
import { type FrameRecord, isZeros, recordsOf } from "../../frames/records.ts";
import { readSharedTexts } from "../../frames/shared-texts.ts";
import type { Connection } from "../database/connection.ts";
import { isDamage } from "../database/sqlite-error.ts";
import { frameOfEvent, lastFrame, placeOf, readFrame, readPayload } from "./frame-rows.ts";

/** Frames whose heads were checked a moment ago are not checked again; what is kept is at most this large. */
const keptBytesMax = 32 * 1024 ** 2;

/**
 * `kept`: the bytes that were written. `removed`: retention has taken them. `damaged`: they are others. `unlisted`: the head of the
 * frame is damaged or gone, or the texts that its entries share are, or a page of it is broken, so that it cannot be known.
 */
type FoundState = "kept" | "removed" | "damaged" | "unlisted";
type FoundEntry = { state: FoundState; text: string };

type OpenFrame = {
  head: Buffer;
  /** The number of its last event; null for a frame that is not there. */
  lastEvent: number | null;
  isGenuine: boolean;
  bytes: number;
  payloads: Map<PayloadName, OpenPayload>;
  /** Once they are asked for. */
  byJob: Map<string, FrameRecord[]> | null;
};
type OpenPayload = {
  bytes: Buffer | null;
  /** It is on a broken page. */
  isUnreadable: boolean;
  starts: Uint32Array;
  listAt: number;
  /** Of a payload whose entries share texts, once they are asked for. */
  texts: { all: string[]; isListed: boolean } | null;
};

/** Reads entries of frames, and remembers the frames that were read last. Why: ADR 0116, ADR 0149. */
export class FrameReader {
  readonly #sql: Connection;
  readonly #macKey: Buffer;
  readonly #unreadable: Set<number>;
  readonly #frames = new Map<number, OpenFrame>();
  #bytes = 0;

  /** `unreadable` are the places of payloads on broken pages, which are not read again. */
  constructor(sql: Connection, macKey: Buffer, unreadable = new Set<number>()) {
    this.#sql = sql;
    this.#macKey = macKey;
    this.#unreadable = unreadable;
  }

  /** An entry of a payload without shared texts. */
  entry(number: number, name: "changes" | "documents", index: number): FoundEntry {
    const { state, bytes } = this.#entry(number, name, index);
    return { state, text: bytes.toString("utf8") };
  }

  /** How many lines a frame lists. */
  lines(number: number): number {
    return Math.max(0, this.#payload(number, this.#frame(number), "jobs").starts.length - 2);
  }

  /** The line of a job; null if nothing of it can be read. */
  line(number: number, index: number): { state: FoundState; line: JobLine | null } {
    const { state, bytes } = this.#line(number, index);
    const { all } = this.#texts(number, "jobs");
    return { state, line: bytes.length === 0 ? null : readJobLine(bytes, all) };
  }

  /** The same without decoding the line. */
  lineState(number: number, index: number): FoundState {
    return this.#line(number, index).state;
  }

  /** A receipt as it was written, which the head lists by the hash of its whole text. */
  receipt(number: number, index: number): FoundEntry {
    const frame = this.#frame(number);
    const payload = this.#payload(number, frame, "receipts");
    const bytes = entryBytes(payload, index);
    if (payload.isUnreadable) return { state: "unlisted", text: "" };
    if (bytes === null || isZeros(bytes)) return { state: "removed", text: "" };
    const text = readPacked(bytes, this.#texts(number, "receipts").all) ?? "";
    if (!frame.isGenuine) return { state: "unlisted", text };
    const isListed = sha256Hex(text) === listedHash(frame.head, payload.listAt, index);
    return { state: isListed ? "kept" : "damaged", text };
  }

  /** The records of a frame, as anybody can read and check them without the key of the hub. */
  records(number: number, firstEvent: number): Generator<FrameRecord> {
    const frame = this.#frame(number);
    const { bytes } = this.#payload(number, frame, "events");
    return recordsOf({ head: frame.head, firstEvent, payload: bytes });
  }

  /** The records of one job in a frame that have a number within it. */
  recordsOfJob(number: number, jobId: string): FrameRecord[] {
    const frame = this.#frame(number);
    if (frame.byJob === null) {
      const ofJobs = [...this.records(number, this.firstEvent(number))].filter(
        ({ event }) => event?.stored.jobSeq != null,
      );
      frame.byJob = Map.groupBy(ofJobs, ({ event }) => event!.stored.jobId!);
    }
    return frame.byJob.get(jobId) ?? [];
  }

  /** The number of its first event, whether or not retention has taken it. */
  firstEvent(number: number): number {
    return readHead(this.#frame(number).head)?.firstEvent ?? 0;
  }

  isGenuine(number: number): boolean {
    return this.#frame(number).isGenuine;
  }

  /** Whether its list can be trusted, and the texts that its lines share. */
  isWhole(number: number): boolean {
    return (
      this.#frame(number).isGenuine && (this.lines(number) === 0 || this.#texts(number, "jobs").isListed)
    );
  }

  /** Whether retention has taken its last event. */
  isPruned(number: number, prunedEvent: number): boolean {
    const { lastEvent } = this.#frame(number);
    // Claims ask for each job, so a frame that is there must not cost a search.
    if (lastEvent !== null) return lastEvent <= prunedEvent;
    const last = lastFrame(this.#sql)?.number ?? 0;
    return number < (frameOfEvent(this.#sql, prunedEvent + 1) ?? last + 1);
  }

  /** The text of an entry without any check, except that it is there to be read. */
  plain(number: number, name: "documents", index: number): { text: string; isReadable: boolean } {
    const payload = this.#payload(number, this.#frame(number), name);
    return { text: entryBytes(payload, index)?.toString("utf8") ?? "", isReadable: !payload.isUnreadable };
  }

  /** The hash that the head lists for an entry. */
  hash(number: number, name: PayloadName, index: number): string {
    const frame = this.#frame(number);
    return listedHash(frame.head, this.#payload(number, frame, name).listAt, index);
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

  /** Of texts that are damaged, no single job is to blame. */
  #line(number: number, index: number): { state: FoundState; bytes: Buffer } {
    const { state, bytes } = this.#entry(number, "jobs", index);
    const isUnlisted = state === "kept" && !this.#texts(number, "jobs").isListed;
    return { state: isUnlisted ? "unlisted" : state, bytes };
  }

  #entry(number: number, name: PayloadName, index: number): { state: FoundState; bytes: Buffer } {
    const frame = this.#frame(number);
    const payload = this.#payload(number, frame, name);
    const bytes = entryBytes(payload, index) ?? Buffer.alloc(0);
    const isListed = frame.isGenuine && index < payload.starts.length - 1;
    if (!isListed || payload.isUnreadable) return { state: "unlisted", bytes };
    const { starts, listAt } = payload;
    const isWhole = payload.bytes !== null && bytes.length === starts[index + 1]! - starts[index]!;
    const at = listAt + 32 * index;
    if (isWhole && hash("sha256", bytes, "buffer").equals(frame.head.subarray(at, at + 32)))
      return { state: "kept", bytes };
    const isGone = payload.bytes === null || (isWhole && isZeros(bytes));
    return { state: isGone ? "removed" : "damaged", bytes: isGone ? Buffer.alloc(0) : bytes };
  }

  #texts(number: number, name: "jobs" | "receipts"): { all: string[]; isListed: boolean } {
    const payload = this.#payload(number, this.#frame(number), name);
    if (payload.texts === null) {
      const last = payload.starts.length - 2;
      const { state, bytes } = this.#entry(number, name, Math.max(0, last));
      payload.texts = { all: readSharedTexts(bytes), isListed: state === "kept" };
    }
    return payload.texts;
  }

  #frame(number: number): OpenFrame {
    const known = this.#frames.get(number);
    if (known !== undefined) return known;
    const { head = Buffer.alloc(0), lastEvent = null } = readFrame(this.#sql, number) ?? {};
    const frame = {
      head,
      lastEvent,
      isGenuine: genuineNumber(this.#macKey, head) === number,
      bytes: head.length,
      payloads: new Map(),
      byJob: null,
    };
    this.#keep(frame.bytes);
    this.#frames.set(number, frame);
    return frame;
  }

  #payload(number: number, frame: OpenFrame, name: PayloadName): OpenPayload {
    let payload = frame.payloads.get(name);
    if (payload === undefined) {
      const { bytes, isUnreadable } = this.#read(number, name);
      payload = { bytes, isUnreadable, ...listedEntries(frame.head, name), texts: null };
      frame.payloads.set(name, payload);
      frame.bytes += bytes?.length ?? 0;
      this.#keep(bytes?.length ?? 0);
    }
    return payload;
  }

  /**
   * Of a payload on a broken page nothing is known. A transaction that writes is lost with it, and is not continued: the next one does
   * not read that page.
   */
  #read(number: number, name: PayloadName): { bytes: Buffer | null; isUnreadable: boolean } {
    const place = placeOf(number, name);
    if (this.#unreadable.has(place)) return { bytes: null, isUnreadable: true };
    try {
      return { bytes: readPayload(this.#sql, number, name), isUnreadable: false };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#unreadable.add(place);
      if (this.#sql.isWriting) throw error;
      return { bytes: null, isUnreadable: true };
    }
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

function entryBytes({ bytes, starts }: OpenPayload, index: number): Buffer | null {
  return bytes?.subarray(starts[index], starts[index + 1]) ?? null;
}
