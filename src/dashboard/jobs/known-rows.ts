import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { FeedEvent } from "../hub/event-stream.ts";
import { patchRow } from "./patch-row.ts";

/** Rows as the hub returned them, after the event `lastSeq` of its log and before the next. */
export type ReadRows = { rows: readonly JobSummary[]; lastSeq: number };

/** A row, the event up to which it is true, and that event itself if it was applied to the row here. */
type ArrivedRow = { row: JobSummary; seq: number; event: FeedEvent | undefined };

/**
 * The rows of a list, and the event up to which each of them is true. Lists and events reach the page by different
 * calls: the last arrival is not always the newest, and an event must neither be lost nor undo what a row already
 * shows. Why: ADR 0046.
 */
export class KnownRows {
  rows: readonly JobSummary[] = [];
  #places = new Map<string, number>();
  /** The event up to which a row is true. */
  #seqs = new Map<string, number>();
  /** Rows that were changed by events, which do not have all details. */
  readonly #patched = new Set<string>();
  /** Of those, rows that lack a detail that people want to see: a result, or why the job failed. */
  readonly #incomplete = new Set<string>();
  /** Events that arrived while rows were being read. */
  #meanwhile = new Map<string, FeedEvent>();
  #reads = 0;

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Whether this row has to be read again to show all details. */
  isIncomplete(id: string): boolean {
    return this.#incomplete.has(id);
  }

  /** Marks every row as incomplete, because events were missed. */
  invalidateAll(): void {
    for (const { id } of this.rows) this.#markPatched(id, true);
  }

  /** Reads rows from the hub, and applies the events that arrive meanwhile. */
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

  /**
   * Shows these rows and no others. A row that has not changed stays the same object, so that it does not render again.
   */
  replace(arrived: readonly ArrivedRow[]): void {
    const ids = new Set(arrived.map(({ row }) => row.id));
    const rows = arrived.map((one) => this.#newest(one));
    for (const kept of [this.#patched, this.#incomplete, this.#seqs])
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

  /** Updates the rows that are shown; others are ignored. */
  update(arrived: readonly ArrivedRow[]): void {
    const rows = [...this.rows];
    for (const one of arrived) {
      const place = this.#places.get(one.row.id);
      if (place !== undefined) rows[place] = this.#newest(one);
    }
    this.rows = rows;
  }

  /** Rows that were requested and did not arrive have been deleted; they are not requested again. */
  dropDeleted(ids: readonly string[], arrived: readonly ArrivedRow[]): void {
    const found = new Set(arrived.map(({ row }) => row.id));
    for (const id of ids) if (!found.has(id)) this.#incomplete.delete(id);
  }

  /** Applies events; returns the ids of the rows that changed. */
  take(events: ReadonlyMap<string, FeedEvent>): Set<string> {
    const changed = new Set<string>();
    const rows = [...this.rows];
    for (const [id, event] of events) {
      if (this.#reads > 0) this.#meanwhile.set(id, event);
      const place = this.#places.get(id);
      if (place === undefined || event.seq <= (this.#seqs.get(id) ?? 0)) continue;
      const isIncomplete = lacksDetails(rows[place]!, event);
      rows[place] = patchRow(rows[place]!, event);
      this.#seqs.set(id, event.seq);
      this.#markPatched(id, isIncomplete);
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

  /** The newer of the row that arrived and the row that is shown. */
  #newest({ row, seq, event }: ArrivedRow): JobSummary {
    const { id } = row;
    const place = this.#places.get(id);
    const shown = place === undefined ? undefined : this.rows[place];
    if (shown !== undefined && seq < (this.#seqs.get(id) ?? 0)) return shown;
    const isSame = shown !== undefined && !this.#patched.has(id) && isSameRow(shown, row);
    this.#seqs.set(id, seq);
    this.#patched.delete(id);
    this.#incomplete.delete(id);
    if (event !== undefined) this.#markPatched(id, isEnded(event.status));
    return isSame ? shown : row;
  }

  #markPatched(id: string, isIncomplete: boolean): void {
    this.#patched.add(id);
    if (isIncomplete) this.#incomplete.add(id);
  }

  #show(rows: readonly JobSummary[]): void {
    this.rows = rows;
    this.#places = new Map(rows.map(({ id }, place) => [id, place]));
  }
}

/** An event tells neither why a job ended nor when its retry is due. */
function lacksDetails(row: JobSummary, { status, attempt }: FeedEvent): boolean {
  const isNextTry = row.attempt > 0 && attempt !== row.attempt;
  return isEnded(status) || isNextTry || (status === "pending" && attempt > 0);
}

/** The fields that events change. A list can be ahead of events that have not arrived. */
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
