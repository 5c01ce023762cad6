import type { Page } from "playwright-core";

/** What a page costs on the wire, in bytes: requests and answers with their headers. */
export type Traffic = { bytes: number; calls: Record<string, number> };

type Watched = {
  read(): Traffic;
  /** Resolves when no answer is awaited but that of the event stream, which never ends. */
  settled(): Promise<void>;
  stop(): Promise<void>;
};

/** Counts as the browser itself does, so that what it decompresses counts as it arrived. */
export async function countBytes(page: Page): Promise<Watched> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const open = new Map<string, string>();
  const traffic: Traffic = { bytes: 0, calls: {} };
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    const path = new URL(request.url).pathname;
    if (!path.endsWith("/jobs/events")) open.set(requestId, path);
    traffic.calls[path] = (traffic.calls[path] ?? 0) + 1;
  });
  session.on("Network.requestWillBeSentExtraInfo", ({ headers }) => {
    traffic.bytes += Object.entries(headers).reduce(
      (sum, [name, value]) => sum + name.length + value.length + 4,
      0,
    );
  });
  session.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
    if (!open.has(requestId)) traffic.bytes += encodedDataLength;
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    traffic.bytes += encodedDataLength;
    open.delete(requestId);
  });
  session.on("Network.loadingFailed", ({ requestId }) => void open.delete(requestId));
  return {
    read: () => structuredClone(traffic),
    async settled() {
      // Whatever a timer has begun is known to the session after one more round through the page.
      do await page.evaluate("0");
      while (open.size > 0);
    },
    stop: () => session.detach(),
  };
}
