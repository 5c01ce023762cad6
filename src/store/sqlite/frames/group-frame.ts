import { sha256Hex } from "../../../signing/mac.ts";
import type { ByteWriter } from "../../frames/byte-writer.ts";
import type { ListMark } from "../../frames/entry-list.ts";
import { type EntryEvent, writeEvent } from "../../frames/event-entry.ts";
import {
  byName,
  type EntryLists,
  emptyLists,
  encodeFrame,
  firstMac,
  macOf,
  timeIn,
} from "../../frames/frame.ts";
import { type JobLine, writeJobLine } from "../../frames/job-line.ts";
import { writePacked } from "../../frames/packed-text.ts";
import type { Connection } from "../database/connection.ts";
import { appendFrame, lastFrame } from "./frame-rows.ts";

type NewLine = JobLine & { documentSha256: string };

export type GroupMark = { lists: Record<keyof EntryLists, ListMark>; worked: number };

/** How many attempts of a worker have ended well and badly. */
type Worked = [workerId: string, completed: number, failed: number];

/** Collects what the acts of a group write, and appends it as one frame. Why: ADR 0116. */
export class GroupFrame {
  readonly #macKey: Buffer;
  #lastMac: Buffer;
  /** The number that this frame will have. */
  number: number;
  readonly #lists: EntryLists = emptyLists();
  #worked: Worked[] = [];
  #atMs: number;

  constructor(sql: Connection, macKey: Buffer) {
    const last = lastFrame(sql);
    this.#macKey = macKey;
    this.number = (last?.number ?? 0) + 1;
    this.#lastMac = last === null ? firstMac : macOf(last);
    this.#atMs = last === null ? 0 : timeIn(last.head);
  }

  /** Returns the place of the line and its document among the others of the frame. */
  addJob(line: NewLine, document: string): number {
    this.#add("documents", (bytes) => bytes.text(document), line.documentSha256);
    return this.#add("jobs", (bytes) => writeJobLine(bytes, this.#lists.jobs.texts, line));
  }

  /** A newer line of a job whose document is in an earlier frame. Lines and documents have the same places. */
  addLine(line: NewLine): number {
    return this.addJob(line, "");
  }

  addReceipt(text: string): number {
    return this.#add(
      "receipts",
      (bytes) => writePacked(bytes, this.#lists.receipts.texts, text),
      sha256Hex(text),
    );
  }

  addEvent(event: EntryEvent, sha256: string): void {
    this.#atMs = event.stored.ts;
    this.#add("events", (bytes) => writeEvent(bytes, this.#lists.events.texts, event), sha256);
  }

  addWorked(...worked: Worked): void {
    this.#worked.push(worked);
  }

  mark(): GroupMark {
    return { lists: byName((name) => this.#lists[name].mark()), worked: this.#worked.length };
  }

  backTo(mark: GroupMark): void {
    byName((name) => this.#lists[name].backTo(mark.lists[name]));
    this.#worked.length = mark.worked;
  }

  /**
   * False if there was nothing to write. Without changes, the rows of the group are written with it, so that no replay reads the frame. A
   * frame has the time of its last event: the clock is that of the callers.
   */
  append(sql: Connection, { changes, lastEvent, previousHash }: GroupEnd): boolean {
    const worked = this.#worked;
    this.#worked = [];
    const firstEvent = lastEvent - this.#lists.events.length + 1;
    const isNothing = changes === null || (changes.rows.length === 0 && changes.turns.length === 0);
    if (firstEvent > lastEvent && this.#lists.jobs.length === 0 && isNothing) return false;
    if (changes !== null) this.#add("changes", (bytes) => bytes.text(JSON.stringify({ ...changes, worked })));
    const { number } = this;
    const facts = { number, atMs: this.#atMs, previousMac: this.#lastMac, firstEvent, previousHash };
    const frame = encodeFrame(this.#macKey, facts, this.#lists);
    appendFrame(sql, number, { frame, firstEvent, lastEvent });
    this.#lastMac = Buffer.from(macOf(frame));
    this.number++;
    return true;
  }

  #add(name: keyof EntryLists, write: (bytes: ByteWriter) => void, sha256?: string): number {
    const list = this.#lists[name];
    write(list.bytes);
    return list.end(sha256);
  }
}

/** `rows` are the rows of jobs as they are now, `turns` those of tenants. */
export type Changes = { rows: unknown[][]; turns: [tenantId: string, turn: number][] };
export type WrittenChanges = Changes & { worked: Worked[] };
/** `previousHash` is that of the record before the first one of the group. */
type GroupEnd = { changes: Changes | null; lastEvent: number; previousHash: string };
