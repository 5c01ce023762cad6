import { useCallback, useEffect, useRef, useState } from "react";
import { hasCode } from "../../core/errors.ts";
import { type Changes, link, onChanges } from "./live-feed.ts";

/** `at` is when the data was read. An error leaves the last data in place. */
export type Query<T> = { data: T | undefined; error: unknown; at: number; reload: () => void };

type Options<T> = {
  /** Reads again this long after the last answer, which may decide it. */
  everyMs?: number | ((data: T | undefined) => number);
  /** Reads again soon after such changes: within `whenMs`, and not more often. */
  when?: (changes: Changes) => boolean;
  whenMs?: number;
};

type Load = () => Promise<unknown>;

/** What was read lately, so that going back shows it at once. */
const kept = new Map<string, { data: unknown; at: number }>();
const keptMax = 60;
const reloadMs = 500;
/** The hub would refuse the same call again. */
const refusals = ["NOT_FOUND", "PERMISSION_DENIED", "INVALID_ARGUMENT"] as const;

/** Everything that is shown now is read once, however many components show it. */
const readers = new Map<string, Reader>();

/** Reads something from the hub and keeps it up to date. Requests never pile up: the next begins after the last ended. */
export function useQuery<T>(key: string, load: () => Promise<T>, options: Options<T> = {}): Query<T> {
  const [, render] = useState(0);
  const latest = useRef({ load, options });
  latest.current = { load, options };

  useEffect(() => {
    const reader = readers.get(key) ?? new Reader(key);
    return reader.add({
      changed: () => render((count) => count + 1),
      load: () => latest.current.load(),
      everyMs: () => {
        const { everyMs } = latest.current.options;
        return typeof everyMs === "function" ? everyMs(kept.get(key)?.data as T | undefined) : everyMs;
      },
      when: (changes) => {
        const { when, whenMs = reloadMs } = latest.current.options;
        return changes.isReset || when?.(changes) ? whenMs : null;
      },
    });
  }, [key]);

  const entry = kept.get(key);
  const reload = useCallback(() => readers.get(key)?.ask(0), [key]);
  return {
    data: entry?.data as T | undefined,
    error: readers.get(key)?.error,
    at: entry?.at ?? 0,
    reload,
  };
}

type Member = {
  changed: () => void;
  load: Load;
  everyMs: () => number | undefined;
  /** Within which time these changes require another read; null if they do not. */
  when: (changes: Changes) => number | null;
};

/** Reads one thing for all components that show it, from the first that appears until the last has gone. */
class Reader {
  error: unknown;
  readonly #key: string;
  readonly #members = new Set<Member>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #isReading = false;
  /** Within which time another read was requested during the current one. */
  #againMs = Number.POSITIVE_INFINITY;
  #stopListening: () => void = () => {};

  constructor(key: string) {
    this.#key = key;
  }

  add(member: Member): () => void {
    if (this.#members.size === 0) this.#start();
    this.#members.add(member);
    if (!this.#isReading) this.ask(0);
    return () => {
      this.#members.delete(member);
      if (this.#members.size === 0) this.#stop();
    };
  }

  /** Reads within this time. A further request does not postpone it: endless changes would postpone it for ever. */
  readonly ask = (withinMs: number): void => {
    if (this.#isReading) {
      this.#againMs = Math.min(this.#againMs, withinMs);
      return;
    }
    const dueAt = performance.now() + withinMs;
    if (dueAt >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => void this.#read(), withinMs);
  };

  #start(): void {
    readers.set(this.#key, this);
    const stopChanges = onChanges((changes) => {
      if (hasCode(this.error, ...refusals)) return;
      for (const { when } of this.#members) {
        const withinMs = when(changes);
        if (withinMs !== null) this.ask(withinMs);
      }
    });
    const onShow = () => {
      if (!document.hidden && !hasCode(this.error, ...refusals)) this.ask(reloadMs);
    };
    document.addEventListener("visibilitychange", onShow);
    // An error about an unreachable hub is read again as soon as the hub is back.
    const stopLink = link.subscribe(() => {
      if (link.get().lostAt === null && hasCode(this.error, "HUB_UNREACHABLE")) this.ask(0);
    });
    this.#stopListening = () => {
      stopChanges();
      stopLink();
      document.removeEventListener("visibilitychange", onShow);
    };
  }

  #stop(): void {
    if (readers.get(this.#key) === this) readers.delete(this.#key);
    clearTimeout(this.#timer);
    this.#stopListening();
  }

  async #read(): Promise<void> {
    const [first] = this.#members;
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (first === undefined || this.#isReading) return;
    this.#isReading = true;
    try {
      const data = await first.load();
      // The person who asked may have signed out; the next one must not see the data.
      if (this.#members.size > 0) keep(this.#key, data);
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
    this.#isReading = false;
    if (this.#members.size === 0) return;
    for (const { changed } of [...this.#members]) changed();
    this.#askAgain();
  }

  #askAgain(): void {
    const againMs = this.#againMs;
    this.#againMs = Number.POSITIVE_INFINITY;
    // The hub would refuse again, and record each refusal. A person who tries again or comes back reads anew.
    if (hasCode(this.error, ...refusals)) return;
    // A hidden tab asks again when it is shown.
    const every = document.hidden ? [] : [...this.#members].map(({ everyMs }) => everyMs());
    const withinMs = Math.min(againMs, ...every.filter((ms) => ms !== undefined));
    if (Number.isFinite(withinMs)) this.ask(withinMs);
  }
}

function keep(key: string, data: unknown): void {
  kept.delete(key);
  kept.set(key, { data, at: Date.now() });
  const oldest = kept.size > keptMax ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
}

/** Forgets everything that was read, for the next person. */
export function forgetQueries(): void {
  kept.clear();
}
