import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ReadProxy } from "./read-proxy.ts";
import { StoreProxy } from "./store-proxy.ts";

/** Threads that answer every call with their number. */
function threads() {
  const started: StoreProxy[] = [];
  const start = (): StoreProxy => {
    const number = started.length + 1;
    const proxy: StoreProxy = new StoreProxy((message) => {
      if (message.kind === "close") return proxy.end("closed");
      for (const { id } of message.requests) {
        proxy.receive({ kind: "read", answer: { id, json: String(number) } });
      }
    });
    started.push(proxy);
    return proxy;
  };
  return { started, start };
}

const idleMs = 60_000;
const read = (reads: ReadProxy) => reads.call("listQueues", undefined);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("refuses reads once it is closed, and can be closed without having been used", async () => {
  const { started, start } = threads();
  const reads = new ReadProxy(start, idleMs);
  await reads.close();
  await expect(read(reads)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(started).toHaveLength(0);
});

it("starts a thread for the first read, and ends it when nothing was read for a while", async () => {
  const { started, start } = threads();
  const reads = new ReadProxy(start, idleMs);
  expect(await read(reads)).toBe(1);
  vi.advanceTimersByTime(idleMs - 1);
  expect(await read(reads)).toBe(1);
  vi.advanceTimersByTime(idleMs - 1);
  expect(started[0]!.isEnded).toBe(false);
  vi.advanceTimersByTime(1);
  expect(started[0]!.isEnded).toBe(true);
  expect(await read(reads)).toBe(2);
  await reads.close();
  expect(started[1]!.isEnded).toBe(true);
});

it("starts another thread after one that has died", async () => {
  const { started, start } = threads();
  const reads = new ReadProxy(start, idleMs);
  await read(reads);
  started[0]!.end("out of memory");
  expect(await read(reads)).toBe(2);
  await reads.close();
});
