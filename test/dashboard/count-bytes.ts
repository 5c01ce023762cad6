import type { Page } from "playwright-core";

/** What a page costs on the wire, in bytes: requests and answers with their headers. */
export type Traffic = { bytes: number; calls: Record<string, number> };

type Watched = {
  read(): Traffic;
  /** Resolves when no answer is awaited but that of the event stream, which never ends. */
  settled(): Promise<void>;
  stop(): Promise<void>;
};

/** Only a call that hangs meets it: the test says which, instead of ending without a word. */
const answerMsMax = 60_000;

/** Counts as the browser itself does, so that what it decompresses counts as it arrived. */
export async function countBytes(page: Page): Promise<Watched> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const open = new Map<string, string>();
  const traffic: Traffic = { bytes: 0, calls: {} };
  // What the page before this one asks for, which lives until the answer to the navigation begins, ends with that page,
  // and the browser does not always say so.
  let loader: string | null = null;
  session.on("Network.requestWillBeSent", ({ requestId, loaderId, request, type }) => {
    const path = new URL(request.url).pathname;
    if (type === "Document") {
      loader = loaderId;
      open.clear();
    }
    if (!path.endsWith("/jobs/events") && (loader === null || loader === loaderId)) open.set(requestId, path);
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
      const endsAt = performance.now() + answerMsMax;
      // Whatever a timer has begun is known to the session after one more round through the page.
      do {
        await page.evaluate("0");
        if (performance.now() > endsAt) throw new Error(`no answer to ${[...open.values()].join(", ")}`);
      } while (open.size > 0);
    },
    stop: () => session.detach(),
  };
}
