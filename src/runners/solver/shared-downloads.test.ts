import { expect, test } from "vitest";
import { type DownloadWaiter, SharedDownloads } from "./shared-downloads.ts";

function waiterOf(signal = new AbortController().signal) {
  const seen: number[] = [];
  const waiter: DownloadWaiter = { signal, onProgress: ({ bytes }) => void seen.push(bytes) };
  return { waiter, seen };
}

/** A download that the test brings forward. */
function handDownload() {
  const end = Promise.withResolvers<void>();
  const started: DownloadWaiter[] = [];
  const start = (waiter: DownloadWaiter): Promise<void> => {
    started.push(waiter);
    waiter.signal.addEventListener("abort", () => end.reject(new Error("aborted")));
    return end.promise;
  };
  return { start, started, end };
}

test("waiters for the same key share one download and all see its progress", async () => {
  const downloads = new SharedDownloads();
  const { start, started, end } = handDownload();
  const [first, second] = [waiterOf(), waiterOf()];
  const both = Promise.all([first, second].map(({ waiter }) => downloads.join("key", waiter, start)));
  started[0]!.onProgress({ bytes: 5, ofBytes: 10 });
  end.resolve();
  await both;
  expect(started).toHaveLength(1);
  expect([first.seen, second.seen]).toEqual([[5], [5]]);
});

test("a failed download rejects all waiters, and the next one starts again", async () => {
  const downloads = new SharedDownloads();
  const broken = handDownload();
  const both = [waiterOf(), waiterOf()].map(({ waiter }) => downloads.join("key", waiter, broken.start));
  broken.end.reject(new Error("cut"));
  for (const join of both) await expect(join).rejects.toThrow("cut");
  const fine = handDownload();
  fine.end.resolve();
  await downloads.join("key", waiterOf().waiter, fine.start);
  expect(fine.started).toHaveLength(1);
});

test("a download continues while a waiter is left, ends with the last one, and cannot be joined after that", async () => {
  const downloads = new SharedDownloads();
  const { start, started } = handDownload();
  const [one, other] = [new AbortController(), new AbortController()];
  const first = downloads.join("key", waiterOf(one.signal).waiter, start);
  const second = downloads.join("key", waiterOf(other.signal).waiter, start);
  one.abort("cancelled");
  await expect(first).rejects.toBe("cancelled");
  expect(started[0]!.signal.aborted).toBe(false);
  other.abort("drain");
  await expect(second).rejects.toBe("drain");
  expect(started[0]!.signal.aborted).toBe(true);
  const next = handDownload();
  next.end.resolve();
  await downloads.join("key", waiterOf().waiter, next.start);
  expect([started.length, next.started.length]).toEqual([1, 1]);
});

test("a waiter that was stopped before starts no download", async () => {
  const { start, started } = handDownload();
  const waiter = waiterOf(AbortSignal.abort("timeout")).waiter;
  await expect(new SharedDownloads().join("key", waiter, start)).rejects.toBe("timeout");
  expect(started).toEqual([]);
});
