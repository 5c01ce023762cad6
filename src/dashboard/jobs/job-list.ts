import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { type Changes, onChanges } from "../hub/live-feed.ts";
import { Store } from "../hub/store.ts";
import { couldShow, hubFilter, type JobFilter, statesOf } from "./job-filter.ts";
import { KnownRows, type ReadRows } from "./known-rows.ts";

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

type Page = ReadRows & { next: string | undefined };

const pageRows = 100;
/** More rows than anybody scrolls through; older ones are reached by narrowing the time. */
export const rowsMax = 10_000;
const refreshMs = 1_000;
const retryMs = 5_000;
/** A flush that changes more rows than this highlights none of them. */
const highlightedMax = 20;

const none: ReadonlySet<string> = new Set();

/** The rows of one filter, kept up to date by live events and by reading again what events do not tell. */
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
  /** Whether new rows may enter now: only while the person does not point at, scroll or select rows. */
  mayInsert: () => boolean = () => true;
  readonly #filter: JobFilter;
  readonly #until: number | undefined;
  readonly #known = new KnownRows();
  #cursor: string | undefined;
  /** Counts how often the list was replaced: a page that was requested before does not continue the new list. */
  #begun = 0;
  /** The rows on the screen. */
  #window = { first: 0, last: 0 };
  #stop: () => void = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRefreshing = false;
  /** Whether the newest page has to be read again, and whether it may enter in any case. */
  #front: "read" | "enter" | null = "enter";
  #isPaused = false;

  constructor(filter: JobFilter) {
    this.#filter = filter;
    this.#until = hubFilter(filter, Date.now()).until;
  }

  /** A list that is not shown misses events, so it is read again when it is shown again, at the same position. */
  start(): void {
    this.#stop = onChanges((changes) => this.#take(changes));
    if (this.#begun > 0) {
      this.#known.invalidateAll();
      this.#front ??= "read";
    }
    void this.#refresh();
  }

  stop(): void {
    this.#stop();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Holds everything as it is, or lets it move again. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) return;
    this.#known.invalidateAll();
    this.showNewer();
  }

  /** Lets the waiting rows in. */
  showNewer(): void {
    this.#front = "enter";
    void this.#refresh();
  }

  /** Rows that scroll onto the screen are read again if they lack a detail. */
  setWindow(first: number, last: number): void {
    this.#window = { first, last };
    this.#refreshIfNeeded();
  }

  async loadMore(): Promise<void> {
    const { isLoadingMore, hasMore, rows } = this.state.get();
    if (isLoadingMore || !hasMore || rows.length >= rowsMax) return;
    this.#set({ isLoadingMore: true });
    const begun = this.#begun;
    try {
      const page = await this.#known.read(() => this.#readPage({ cursor: this.#cursor }));
      if (begun !== this.#begun) return this.#set({ isLoadingMore: false });
      const added = this.#known.add(page.arrived, "end");
      this.#cursor = page.next;
      this.#set({ hasMore: page.next !== undefined, isLoadingMore: false, error: undefined });
      // With a filter that has no index, a page may be short or empty and still have a cursor.
      if (added === 0 && page.next !== undefined) await this.loadMore();
    } catch (error) {
      this.#set({ isLoadingMore: false, error });
    }
  }

  async #readPage(which: { cursor?: string | undefined; ids?: string[] }): Promise<Page> {
    const query = { ...hubFilter(this.#filter, Date.now()), until: this.#until, limit: pageRows, ...which };
    const { body, header } = await callHub(pageRoutes.listJobs, { query });
    return { rows: body, next: header("x-next-cursor"), lastSeq: Number(header("x-last-event-id")) };
  }

  /** Rows by their ids, whether or not they still fit the filter. */
  async #readRows(ids: string[]): Promise<ReadRows> {
    const { body, header } = await callHub(pageRoutes.listJobs, { query: { ids, limit: ids.length } });
    return { rows: body, lastSeq: Number(header("x-last-event-id")) };
  }

  /** Reads what is out of date: the newest page if there are new rows, and rows on the screen that lack a detail. */
  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const front = this.#front;
    this.#front = null;
    try {
      if (front !== null) await this.#readFront(front === "enter");
      const ids = this.#incompleteIds();
      if (ids.length > 0) {
        const { arrived } = await this.#known.read(() => this.#readRows(ids));
        this.#known.update(arrived);
        this.#known.dropDeleted(ids, arrived);
      }
      this.#set({ error: undefined });
    } catch (error) {
      this.#front ??= front;
      this.#set({ error, isLoading: false });
    }
    this.#isRefreshing = false;
    const { error } = this.state.get();
    if (error !== undefined) this.#refreshSoon(retryMs);
    else this.#refreshIfNeeded();
  }

  async #readFront(mustEnter: boolean): Promise<void> {
    const page = await this.#known.read(() => this.#readPage({}));
    const isFirst = this.#begun === 0;
    const entering = page.rows.filter(({ id }) => !this.#known.has(id)).length;
    const mayEnter = isFirst || mustEnter || this.mayInsert();
    if (!isFirst && (!mayEnter || (entering === 0 && this.#hasSameStart(page)))) {
      this.#known.update(page.arrived);
      this.#set({ newer: mayEnter ? 0 : Math.max(this.state.get().newer, entering) });
    } else if (page.rows.length < pageRows && page.next !== undefined && !isFirst) {
      // The hub has not searched all jobs, so rows that are missing from this page may still match.
      this.#known.add(page.arrived, "start");
      this.#set({ newer: 0 });
    } else {
      // Older rows are read again on scrolling: more jobs may have arrived than one page holds.
      this.#begun += 1;
      this.#known.replace(page.arrived);
      this.#cursor = page.next;
      this.#set({ isLoading: false, hasMore: page.next !== undefined, newer: 0 });
    }
  }

  /**
   * With a filter by state, rows that no longer match stay in place. Without one, a row that is missing was deleted.
   */
  #hasSameStart({ rows }: Page): boolean {
    if (statesOf(this.#filter).length > 0) return true;
    return rows.every(({ id }, place) => this.#known.rows[place]?.id === id);
  }

  #incompleteIds(): string[] {
    const { first, last } = this.#window;
    const ids = this.#known.rows.slice(first, last).map(({ id }) => id);
    return ids.filter((id) => this.#known.isIncomplete(id)).slice(0, pageRows);
  }

  #take({ events, created, isReset }: Changes): void {
    if (this.#isPaused) return;
    const arriving = this.#arriving({ events, created });
    const changed = this.#known.take(events);
    if (isReset) this.#known.invalidateAll();
    if (changed.size > 0) this.#set({ changed: changed.size > highlightedMax ? none : changed });
    if (arriving > 0) this.#set({ newer: this.state.get().newer + arriving });
    if (arriving > 0 || isReset) this.#front ??= "read";
    this.#refreshIfNeeded();
  }

  /** How many jobs belong to the list and are not in it yet. With a filter by state, any change can add one. */
  #arriving({ events, created }: Pick<Changes, "events" | "created">): number {
    const coming = statesOf(this.#filter).length > 0 ? [...events.values()] : created;
    return coming.filter((event) => !this.#known.has(event.id) && couldShow(this.#filter, event)).length;
  }

  #refreshIfNeeded(): void {
    if (this.#front !== null || this.#incompleteIds().length > 0) this.#refreshSoon(refreshMs);
  }

  #refreshSoon(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (!this.#isPaused) void this.#refresh();
    }, ms);
  }

  #set(part: Partial<ListState>): void {
    this.state.set({ ...this.state.get(), ...part, rows: this.#known.rows });
  }
}
