import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { FeedEvent } from "../hub/event-stream.ts";
import { patchRow } from "./patch-row.ts";

/** Rows as the hub gave them, after this event of its log and before the next. */
export type ReadRows = { rows: readonly JobSummary[]; lastSeq: number };

/** A row, up to which event it is true, and what that event was if it was added to the row here. */
type ArrivedRow = { row: JobSummary; seq: number; event: FeedEvent | undefined };

/**
 * The rows of a list, and up to which event each of them is true. Lists and events take different ways to the page: what
 * arrives last is not always the newest, and an event must neither be lost nor undo what a row already shows.
 * Why: ADR 0046.
 */
export class KnownRows {
  rows: readonly JobSummary[] = [];
  #places = new Map<string, number>();
  /** The event up to which a row is true. */
  #seqs = new Map<string, number>();
  /** Rows that show what events told of them; what else has changed is known when they are read again. */
  readonly #incomplete = new Set<string>();
  /** Of those, rows that lack something that people want to see: a result, or why it failed. */
  readonly #wanting = new Set<string>();
  /** What happened while rows are on their way. */
  #meanwhile = new Map<string, FeedEvent>();
  #reads = 0;

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Whether this row has to be read again before it shows everything. */
  isWanting(id: string): boolean {
    return this.#wanting.has(id);
  }

  /** Events were missed: nothing that is shown can be trusted. */
  doubtAll(): void {
    for (const { id } of this.rows) this.#doubt(id, true);
  }

  /** Reads rows from the hub, and adds to them what happens in the meantime. */
  async read<T extends ReadRows>(load: () => Promise<T>): Promise<T & { arrived: ArrivedRow[] }> {
    this.#reads += 1;
    try {
      const read = await load();
      return { ...read, arrived: read.rows.map((row) => this.#arrive(row, read.lastSeq)) };
    } finally {
      this.#reads -= 1;
      if (this.#reads === 0) this.#meanwhile = new Map();
    }
  }

  /** Shows these rows and no others. A row that has not changed stays the same object, so that it is not drawn again. */
  replace(arrived: readonly ArrivedRow[]): void {
    const ids = new Set(arrived.map(({ row }) => row.id));
    const rows = arrived.map((one) => this.#newest(one));
    for (const kept of [this.#incomplete, this.#wanting, this.#seqs])
      for (const id of kept.keys()) if (!ids.has(id)) kept.delete(id);
    this.#show(rows);
  }

  /** Adds rows at the end, or at the start; those that are already shown stay where they are. */
  add(arrived: readonly ArrivedRow[], at: "start" | "end"): number {
    const added = arrived.filter(({ row }) => !this.has(row.id));
    this.update(arrived);
    const rows = added.map((one) => this.#newest(one));
    this.#show(at === "start" ? [...rows, ...this.rows] : [...this.rows, ...rows]);
    return added.length;
  }

  /** Brings the rows that are shown up to date; others are left out. */
  update(arrived: readonly ArrivedRow[]): void {
    const rows = [...this.rows];
    for (const one of arrived) {
      const place = this.#places.get(one.row.id);
      if (place !== undefined) rows[place] = this.#newest(one);
    }
    this.rows = rows;
  }

  /** Of these rows, those that did not arrive have been deleted: they are not asked for again. */
  settle(ids: readonly string[], arrived: readonly ArrivedRow[]): void {
    const found = new Set(arrived.map(({ row }) => row.id));
    for (const id of ids) if (!found.has(id)) this.#wanting.delete(id);
  }

  /** Takes what happened since; returns the ids of the rows that changed. */
  take(events: ReadonlyMap<string, FeedEvent>): Set<string> {
    const changed = new Set<string>();
    const rows = [...this.rows];
    for (const [id, event] of events) {
      if (this.#reads > 0) this.#meanwhile.set(id, event);
      const place = this.#places.get(id);
      if (place === undefined || event.seq <= (this.#seqs.get(id) ?? 0)) continue;
      const isWanting = tellsTooLittle(rows[place]!, event);
      rows[place] = patchRow(rows[place]!, event);
      this.#seqs.set(id, event.seq);
      this.#doubt(id, isWanting);
      changed.add(id);
    }
    if (changed.size > 0) this.rows = rows;
    return changed;
  }

  #arrive(row: JobSummary, lastSeq: number): ArrivedRow {
    const event = this.#meanwhile.get(row.id);
    if (event === undefined || event.seq <= lastSeq) return { row, seq: lastSeq, event: undefined };
    return { row: patchRow(row, event), seq: event.seq, event };
  }

  /** What is known best of this row: what arrived, unless what is shown is newer or the same. */
  #newest({ row, seq, event }: ArrivedRow): JobSummary {
    const { id } = row;
    const place = this.#places.get(id);
    const shown = place === undefined ? undefined : this.rows[place];
    if (shown !== undefined && seq < (this.#seqs.get(id) ?? 0)) return shown;
    const isSame = shown !== undefined && !this.#incomplete.has(id) && isSameRow(shown, row);
    this.#seqs.set(id, seq);
    this.#incomplete.delete(id);
    this.#wanting.delete(id);
    if (event !== undefined) this.#doubt(id, isEnded(event.status));
    return isSame ? shown : row;
  }

  #doubt(id: string, isWanting: boolean): void {
    this.#incomplete.add(id);
    if (isWanting) this.#wanting.add(id);
  }

  #show(rows: readonly JobSummary[]): void {
    this.rows = rows;
    this.#places = new Map(rows.map(({ id }, place) => [id, place]));
  }
}

/** An event tells neither why a job ended, nor from when on it waits to be tried again. */
function tellsTooLittle(row: JobSummary, { status, attempt }: FeedEvent): boolean {
  const isNextTry = row.attempt > 0 && attempt !== row.attempt;
  return isEnded(status) || isNextTry || (status === "pending" && attempt > 0);
}

/** What changes with every event: a list can be ahead of the events that are still on their way. */
const changing = [
  "status",
  "attempt",
  "attempts",
  "worker_id",
  "progress",
  "progress_detail",
  "run_at",
  "claimed_at",
  "started_at",
  "completed_at",
] as const satisfies readonly (keyof JobSummary)[];

function isSameRow(one: JobSummary, other: JobSummary): boolean {
  return changing.every((name) => one[name] === other[name]);
}
