import { routes } from "../../contract/routes.ts";
import type { JobSummary, LiveEvent } from "../../contract/view-shapes.ts";
import { isEnded } from "../../core/job.ts";
import { callHub } from "../hub/call-hub.ts";
import { type Changes, onChanges } from "../hub/live-feed.ts";
import { Store } from "../hub/store.ts";
import { couldShow, hubFilter, type JobFilter, statesOf } from "./job-filter.ts";

type ListState = {
  rows: readonly JobSummary[];
  /** Whether the first answer is still awaited. */
  isLoading: boolean;
  isLoadingMore: boolean;
  hasMore: boolean;
  error: unknown;
  /** New jobs that wait until they can enter without moving what is being read. */
  newer: number;
  /** Jobs whose cells changed in the last flush, if they were few. */
  changed: ReadonlySet<string>;
};

const pageRows = 100;
/** More rows than anybody scrolls through; older ones are reached by narrowing the time. */
export const rowsMax = 10_000;
const refreshMs = 1_000;
/** A flush that changes more rows than this is not worth a wash of colour. */
const washedMax = 20;

const none: ReadonlySet<string> = new Set();

/** The rows of one filter, kept up to date by live events and by reading pages again. */
export class JobList {
  readonly state = new Store<ListState>({
    rows: [],
    isLoading: true,
    isLoadingMore: false,
    hasMore: false,
    error: undefined,
    newer: 0,
    changed: none,
  });
  /** Whether new rows may enter now: nobody points at, scrolls or selects rows. */
  mayInsert: () => boolean = () => true;
  readonly #filter: JobFilter;
  readonly #until: number | undefined;
  #cursor: string | undefined;
  #stop: () => void = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRefreshing = false;
  #isPaused = false;

  constructor(filter: JobFilter) {
    this.#filter = filter;
    this.#until = hubFilter(filter, Date.now()).until;
  }

  start(): void {
    this.#stop = onChanges((changes) => this.#take(changes));
    void this.#refresh(true);
  }

  stop(): void {
    this.#stop();
    clearTimeout(this.#timer);
  }

  /** Holds everything as it is, or lets it move again. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused) void this.#refresh(true);
  }

  /** Lets the waiting rows in. */
  showNewer(): void {
    void this.#refresh(true);
  }

  async loadMore(): Promise<void> {
    const { isLoadingMore, hasMore, rows } = this.state.get();
    if (isLoadingMore || !hasMore || rows.length >= rowsMax) return;
    this.#set({ isLoadingMore: true });
    try {
      const page = await this.#read(this.#cursor);
      const known = new Set(this.state.get().rows.map(({ id }) => id));
      const added = page.rows.filter(({ id }) => !known.has(id));
      this.#cursor = page.next;
      this.#set({
        rows: [...this.state.get().rows, ...added],
        hasMore: page.next !== undefined,
        isLoadingMore: false,
        error: undefined,
      });
      // A filter that no index serves answers with short or even empty pages; the cursor continues.
      if (added.length === 0 && page.next !== undefined) await this.loadMore();
    } catch (error) {
      this.#set({ isLoadingMore: false, error });
    }
  }

  async #read(cursor?: string): Promise<{ rows: JobSummary[]; next: string | undefined }> {
    const query = { ...hubFilter(this.#filter, Date.now()), until: this.#until, limit: pageRows, cursor };
    const { body, header } = await callHub(routes.listJobs, { query });
    return { rows: body, next: header("x-next-cursor") };
  }

  /** Reads the newest page again. Known rows are replaced where they are; new ones enter, or are counted. */
  async #refresh(mayInsert: boolean): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      const page = await this.#read();
      const { rows, isLoading } = this.state.get();
      if (isLoading) {
        this.#cursor = page.next;
        this.#set({ rows: page.rows, isLoading: false, hasMore: page.next !== undefined, error: undefined });
      } else this.#merge(rows, page.rows, mayInsert);
    } catch (error) {
      this.#set({ error, isLoading: false });
    }
    this.#isRefreshing = false;
  }

  #merge(rows: readonly JobSummary[], fresh: readonly JobSummary[], mayInsert: boolean): void {
    const byId = new Map(fresh.map((row) => [row.id, row]));
    const known = new Set(rows.map(({ id }) => id));
    const entering = fresh.filter(({ id }) => !known.has(id));
    const kept = rows.map((row) => byId.get(row.id) ?? row);
    if (entering.length === 0 || !mayInsert) {
      this.#set({ rows: kept, error: undefined, newer: Math.max(this.state.get().newer, entering.length) });
      return;
    }
    const merged = [...entering, ...kept].sort(
      (a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1),
    );
    this.#set({ rows: merged.slice(0, rowsMax), error: undefined, newer: 0 });
  }

  #take({ events, created, isReset }: Changes): void {
    const { rows, isLoading } = this.state.get();
    if (this.#isPaused || isLoading) return;
    const changed = new Set<string>();
    let hasEnded = isReset;
    const patched = rows.map((row) => {
      const event = events.get(row.id);
      if (event === undefined || isOlder(event, row)) return row;
      changed.add(row.id);
      hasEnded ||= isEnded(event.status);
      return patch(row, event);
    });
    const arriving = this.#arriving({ events, created }, rows);
    if (changed.size > 0) this.#set({ rows: patched, changed: changed.size > washedMax ? none : changed });
    if (arriving > 0) this.#set({ newer: this.state.get().newer + arriving });
    if (hasEnded || arriving > 0) this.#refreshSoon();
  }

  /** How many jobs that are not among the rows belong there now. With a filter by state, any change can bring one. */
  #arriving({ events, created }: Pick<Changes, "events" | "created">, rows: readonly JobSummary[]): number {
    const coming = statesOf(this.#filter).length > 0 ? [...events.values()] : created;
    const fitting = coming.filter((event) => couldShow(this.#filter, event));
    if (fitting.length === 0) return 0;
    const known = new Set(rows.map(({ id }) => id));
    return fitting.filter(({ id }) => !known.has(id)).length;
  }

  #refreshSoon(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#isPaused) void this.#refresh(this.mayInsert());
    }, refreshMs);
  }

  #set(part: Partial<ListState>): void {
    this.state.set({ ...this.state.get(), ...part });
  }
}

/** An event that was under way while the row was read says nothing new. */
function isOlder(event: LiveEvent, row: JobSummary): boolean {
  return (
    event.attempt < row.attempt ||
    (isEnded(row.status) &&
      !isEnded(event.status) &&
      event.attempt === row.attempt &&
      event.status !== "pending")
  );
}

/** What an event tells of a row, until the row is read again. */
function patch(
  row: JobSummary,
  { status, worker_id, attempt, ts, progress, detail, fail_code }: LiveEvent,
): JobSummary {
  const isNewAttempt = attempt !== row.attempt;
  return {
    ...row,
    status,
    attempt,
    attempts: isNewAttempt ? row.attempts + 1 : row.attempts,
    worker_id: worker_id ?? (status === "pending" ? null : row.worker_id),
    progress: progress ?? (isNewAttempt ? null : row.progress),
    progress_detail: detail ?? (isNewAttempt ? null : row.progress_detail),
    claimed_at: status === "assigned" ? ts : row.claimed_at,
    started_at: status === "running" && (isNewAttempt || row.started_at === null) ? ts : row.started_at,
    completed_at: isEnded(status) ? ts : null,
    fail_code: (fail_code as JobSummary["fail_code"]) ?? row.fail_code,
  };
}
