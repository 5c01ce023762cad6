import { hash } from "node:crypto";
import { encodeFrame, firstMac, macOf, type NewFrame } from "../../frames/frame.ts";
import type { Connection } from "../../sqlite/database/connection.ts";
import { appendFrame, lastFrame } from "./frame-rows.ts";

type NewEntry = { text: string; sha256?: string };

export type GroupMark = { jobs: number; receipts: number; events: number; worked: number };

/** How many attempts of a worker have ended well and badly. */
type Worked = [workerId: string, completed: number, failed: number];

/** Collects what the acts of a group write, and appends it as one frame. */
export class GroupFrame {
  readonly #macKey: Buffer;
  #lastMac: Buffer;
  /** The number that this frame will have. */
  number: number;
  #jobs: NewEntry[] = [];
  #documents: NewEntry[] = [];
  #receipts: NewEntry[] = [];
  #events: NewEntry[] = [];
  #worked: Worked[] = [];

  constructor(sql: Connection, macKey: Buffer) {
    const last = lastFrame(sql);
    this.#macKey = macKey;
    this.number = (last?.number ?? 0) + 1;
    this.#lastMac = last === null ? firstMac : macOf({ head: last.head, payloads: {} as never });
  }

  /** Returns the place of the line and its document among the others of the frame. */
  addJob(line: string, document: NewEntry): number {
    this.#documents.push(document);
    return this.#jobs.push({ text: line }) - 1;
  }

  /** A newer line of a job whose document is in an earlier frame. Lines and documents have the same places. */
  addLine(line: string): number {
    return this.addJob(line, { text: "" });
  }

  addReceipt(text: string): number {
    return this.#receipts.push({ text }) - 1;
  }

  addEvent(record: Required<NewEntry>): void {
    this.#events.push(record);
  }

  addWorked(...worked: Worked): void {
    this.#worked.push(worked);
  }

  mark(): GroupMark {
    return {
      jobs: this.#jobs.length,
      receipts: this.#receipts.length,
      events: this.#events.length,
      worked: this.#worked.length,
    };
  }

  backTo(mark: GroupMark): void {
    this.#jobs.length = mark.jobs;
    this.#documents.length = mark.jobs;
    this.#receipts.length = mark.receipts;
    this.#events.length = mark.events;
    this.#worked.length = mark.worked;
  }

  /** False if there was nothing to write. `rows` are the rows of jobs as they are now, `turns` those of tenants. */
  append(sql: Connection, { rows, turns, lastEvent, atMs }: GroupChanges): boolean {
    if (this.#events.length === 0 && rows.length === 0 && turns.length === 0) return false;
    const changes = JSON.stringify({ rows, turns, worked: this.#worked });
    const entries: NewFrame["entries"] = {
      jobs: this.#jobs,
      changes: [{ text: changes, sha256: hash("sha256", changes, "hex") }],
      documents: this.#documents,
      receipts: this.#receipts,
      events: this.#events,
    };
    const { number } = this;
    const frame = encodeFrame(this.#macKey, { number, atMs, previousMac: this.#lastMac, entries });
    appendFrame(sql, number, { frame, firstEvent: lastEvent - this.#events.length + 1, lastEvent });
    this.#lastMac = Buffer.from(macOf(frame));
    this.number++;
    this.#jobs = [];
    this.#documents = [];
    this.#receipts = [];
    this.#events = [];
    this.#worked = [];
    return true;
  }
}

export type Changes = { rows: unknown[][]; turns: [tenantId: string, turn: number][]; worked: Worked[] };
type GroupChanges = Omit<Changes, "worked"> & { lastEvent: number; atMs: number };
