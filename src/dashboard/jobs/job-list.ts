import { routes } from "../../contract/routes/routes.ts";
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
/** A flush that changes more rows than this is not worth a wash of colour. */
const washedMax = 20;

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
  /** Whether new rows may enter now: nobody points at, scrolls or selects rows. */
  mayInsert: () => boolean = () => true;
  readonly #filter: JobFilter;
  readonly #until: number | undefined;
  readonly #known = new KnownRows();
  #cursor: string | undefined;
  /** Counts how often the list was begun anew: a page that was asked for before does not continue it. */
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

  /** What happened while nobody looked was missed, so a list that is shown again is read again, where it stands. */
  start(): void {
    this.#stop = onChanges((changes) => this.#take(changes));
    if (this.#begun > 0) {
      this.#known.doubtAll();
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
    this.#known.doubtAll();
    this.showNewer();
  }

  /** Lets the waiting rows in. */
  showNewer(): void {
    this.#front = "enter";
    void this.#refresh();
  }

  /** Rows that come onto the screen are read again if they lack something. */
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
      // A filter that no index serves answers with short or even empty pages; the cursor continues.
      if (added === 0 && page.next !== undefined) await this.loadMore();
    } catch (error) {
      this.#set({ isLoadingMore: false, error });
    }
  }

  async #readPage(which: { cursor?: string | undefined; ids?: string[] }): Promise<Page> {
    const query = { ...hubFilter(this.#filter, Date.now()), until: this.#until, limit: pageRows, ...which };
    const { body, header } = await callHub(routes.listJobs, { query });
    return { rows: body, next: header("x-next-cursor"), lastSeq: Number(header("x-last-event-id")) };
  }

  /** Rows by their ids, whether or not they still fit the filter. */
  async #readRows(ids: string[]): Promise<ReadRows> {
    const { body, header } = await callHub(routes.listJobs, { query: { ids, limit: ids.length } });
    return { rows: body, lastSeq: Number(header("x-last-event-id")) };
  }

  /** Reads what is out of date: the newest page if there are new rows, and rows on the screen that lack something. */
  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const front = this.#front;
    this.#front = null;
    try {
      if (front !== null) await this.#readFront(front === "enter");
      const ids = this.#wantingIds();
      if (ids.length > 0) {
        const { arrived } = await this.#known.read(() => this.#readRows(ids));
        this.#known.update(arrived);
        this.#known.settle(ids, arrived);
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
      // The hub has not looked at all jobs, so those that are not on this page may still fit.
      this.#known.add(page.arrived, "start");
      this.#set({ newer: 0 });
    } else {
      // Older rows are read again by whoever scrolls to them: more may have come in than one page has.
      this.#begun += 1;
      this.#known.replace(page.arrived);
      this.#cursor = page.next;
      this.#set({ isLoading: false, hasMore: page.next !== undefined, newer: 0 });
    }
  }

  /** With a filter by state, rows that do not fit any more stay where they are; otherwise they have been deleted. */
  #hasSameStart({ rows }: Page): boolean {
    if (statesOf(this.#filter).length > 0) return true;
    return rows.every(({ id }, place) => this.#known.rows[place]?.id === id);
  }

  #wantingIds(): string[] {
    const { first, last } = this.#window;
    const ids = this.#known.rows.slice(first, last).map(({ id }) => id);
    return ids.filter((id) => this.#known.isWanting(id)).slice(0, pageRows);
  }

  #take({ events, created, isReset }: Changes): void {
    if (this.#isPaused) return;
    const arriving = this.#arriving({ events, created });
    const changed = this.#known.take(events);
    if (isReset) this.#known.doubtAll();
    if (changed.size > 0) this.#set({ changed: changed.size > washedMax ? none : changed });
    if (arriving > 0) this.#set({ newer: this.state.get().newer + arriving });
    if (arriving > 0 || isReset) this.#front ??= "read";
    this.#refreshIfNeeded();
  }

  /** How many jobs that are not among the rows belong there now. With a filter by state, any change can bring one. */
  #arriving({ events, created }: Pick<Changes, "events" | "created">): number {
    const coming = statesOf(this.#filter).length > 0 ? [...events.values()] : created;
    return coming.filter((event) => !this.#known.has(event.id) && couldShow(this.#filter, event)).length;
  }

  #refreshIfNeeded(): void {
    if (this.#front !== null || this.#wantingIds().length > 0) this.#refreshSoon(refreshMs);
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
