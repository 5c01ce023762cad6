import type { Received } from "../../runtime/guarded-fetch/guarded-fetch.ts";

/** A job that waits for a download. */
export type DownloadWaiter = { signal: AbortSignal; onProgress(received: Received): void };

type StartDownload = (waiter: DownloadWaiter) => Promise<void>;
type SharedDownload = { waiters: Set<DownloadWaiter>; abort: AbortController; done: Promise<void> };

/** Downloads by key: jobs that need the same one at the same time share it. It ends when no job waits any longer. */
export class SharedDownloads {
  readonly #downloads = new Map<string, SharedDownload>();

  /** Rejects with the reason of the waiter's signal when that is aborted first. */
  async join(key: string, waiter: DownloadWaiter, start: StartDownload): Promise<void> {
    waiter.signal.throwIfAborted();
    const download = this.#downloads.get(key) ?? this.#begin(key, start);
    download.waiters.add(waiter);
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(waiter.signal.reason);
    waiter.signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([download.done, stopped.promise]);
    } finally {
      waiter.signal.removeEventListener("abort", stop);
      download.waiters.delete(waiter);
      if (download.waiters.size === 0) await this.#end(key, download);
    }
  }

  #begin(key: string, start: StartDownload): SharedDownload {
    const waiters = new Set<DownloadWaiter>();
    const abort = new AbortController();
    const onProgress = (received: Received): void => {
      for (const waiter of waiters) waiter.onProgress(received);
    };
    const done = start({ signal: abort.signal, onProgress });
    const download = { waiters, abort, done };
    this.#downloads.set(key, download);
    const forget = (): void => this.#forget(key, download);
    done.then(forget, forget);
    return download;
  }

  /** Resolves when the download has ended, so that nothing of it remains after its last job. */
  async #end(key: string, download: SharedDownload): Promise<void> {
    this.#forget(key, download);
    download.abort.abort();
    // Each waiter has received the error.
    await download.done.catch(() => {});
  }

  /** Makes sure that no job joins a download that has ended or is about to. */
  #forget(key: string, download: SharedDownload): void {
    if (this.#downloads.get(key) === download) this.#downloads.delete(key);
  }
}
