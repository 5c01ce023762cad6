import { useCallback, useEffect, useRef, useState } from "react";
import { type Changes, onChanges } from "./live-feed.ts";

/** `at` is when the data was read. An error leaves the last data in place. */
export type Query<T> = { data: T | undefined; error: unknown; at: number; reload: () => void };

type Options = {
  /** Reads again this long after the last answer. */
  everyMs?: number;
  /** Reads again soon after such changes. */
  when?: (changes: Changes) => boolean;
};

/** What was read lately, so that going back shows it at once. */
const kept = new Map<string, { data: unknown; at: number }>();
const keptMax = 60;
const reloadMsMin = 500;

/** Reads something from the hub and keeps it up to date. Requests never pile up: the next begins after the last ended. */
export function useQuery<T>(key: string, load: () => Promise<T>, options: Options = {}): Query<T> {
  const [, render] = useState(0);
  const state = useRef<{ key: string; error: unknown }>({ key, error: undefined });
  const latest = useRef({ load, options });
  latest.current = { load, options };
  const control = useRef<{ ask: (soon: boolean) => void }>({ ask: () => {} });

  useEffect(() => {
    state.current = { key, error: undefined };
    const reader = new Reader(key, () => render((count) => count + 1), {
      load: () => latest.current.load(),
      everyMs: () => latest.current.options.everyMs,
      setError: (error) => {
        state.current.error = error;
      },
    });
    control.current = reader;
    const stop = onChanges((changes) => {
      if (changes.isReset || latest.current.options.when?.(changes)) reader.ask(true);
    });
    const onShow = () => {
      if (!document.hidden) reader.ask(true);
    };
    document.addEventListener("visibilitychange", onShow);
    reader.ask(false);
    return () => {
      stop();
      reader.stop();
      document.removeEventListener("visibilitychange", onShow);
    };
  }, [key]);

  const entry = kept.get(key);
  const error = state.current.key === key ? state.current.error : undefined;
  const reload = useCallback(() => control.current.ask(false), []);
  return { data: entry?.data as T | undefined, error, at: entry?.at ?? 0, reload };
}

type Source = {
  load: () => Promise<unknown>;
  everyMs: () => number | undefined;
  setError: (error: unknown) => void;
};

class Reader {
  readonly #key: string;
  readonly #changed: () => void;
  readonly #source: Source;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isAskedAgain = false;
  #isStopped = false;

  constructor(key: string, changed: () => void, source: Source) {
    this.#key = key;
    this.#changed = changed;
    this.#source = source;
  }

  readonly ask = (soon: boolean): void => {
    if (this.#isReading) {
      this.#isAskedAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    if (soon) this.#timer = setTimeout(() => void this.#read(), reloadMsMin);
    else void this.#read();
  };

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #read(): Promise<void> {
    if (this.#isStopped || this.#isReading) return;
    this.#isReading = true;
    try {
      keep(this.#key, await this.#source.load());
      if (!this.#isStopped) this.#source.setError(undefined);
    } catch (error) {
      if (!this.#isStopped) this.#source.setError(error);
    }
    this.#isReading = false;
    if (this.#isStopped) return;
    this.#changed();
    const everyMs = this.#source.everyMs();
    const isAskedAgain = this.#isAskedAgain;
    this.#isAskedAgain = false;
    if (isAskedAgain) this.ask(true);
    else if (everyMs !== undefined) this.#timer = setTimeout(() => this.#again(), everyMs);
  }

  #again(): void {
    // A hidden tab asks again when it is shown.
    if (!document.hidden) void this.#read();
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
