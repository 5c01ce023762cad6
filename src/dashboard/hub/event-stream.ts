import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { refusalOf } from "../../contract/routes/read-answer.ts";
import { apiPrefix } from "../../contract/routes/route.ts";
import type { HubPart, LiveEvent } from "../../contract/shapes/view-shapes.ts";
import { parseSse } from "../../runtime/http/sse.ts";
import { sessionHeaders } from "./session.ts";

/** The hub sends a comment at least every 15 s; a stream that is silent for longer is dead. */
const silenceMsMax = 40_000;

/** `seq` is its position in the hub's log, which tells whether it happened before or after a list was read. */
export type FeedEvent = LiveEvent & { seq: number };
export type StreamBatch = {
  lastId: string | null;
  events: FeedEvent[];
  /** Parts of the hub that have changed. */
  parts: HubPart[];
  isReset: boolean;
};

export const emptyBatch: Readonly<StreamBatch> = { lastId: null, events: [], parts: [], isReset: false };

/** Reads live events until the stream ends; events that arrive together are passed on together. */
export async function readEvents(options: {
  lastId: string | null;
  signal: AbortSignal;
  onOpen: () => void;
  onBatch: (batch: StreamBatch) => void;
}): Promise<void> {
  const silence = new AbortController();
  const position: Record<string, string> = options.lastId === null ? {} : { "Last-Event-ID": options.lastId };
  const response = await fetch(`${apiPrefix}${pageRoutes.streamEvents.path}?hub=true`, {
    headers: { ...sessionHeaders(), ...position },
    cache: "no-store",
    signal: AbortSignal.any([options.signal, silence.signal]),
  });
  if (!response.ok || response.body === null) throw await refusalIn(response);
  options.onOpen();
  const newBatch = (): StreamBatch => ({ ...emptyBatch, events: [], parts: [] });
  let batch = newBatch();
  const flush = () => {
    const isEmpty = batch.events.length === 0 && batch.parts.length === 0;
    if (batch.lastId === null && isEmpty && !batch.isReset) return;
    options.onBatch(batch);
    batch = newBatch();
  };
  for await (const { id, event, data } of parseSse(
    chunksOf(response.body, { silence, onChunkDone: flush }),
  )) {
    if (id !== undefined) batch.lastId = id;
    if (event === "reset") batch.isReset = true;
    else if (event === "hub:changed") batch.parts.push((JSON.parse(data) as { part: HubPart }).part);
    else if (event.startsWith("job:")) {
      const live = JSON.parse(data) as LiveEvent;
      batch.events.push({ ...live, seq: Number(id) });
    }
  }
}

async function refusalIn(response: Response): Promise<Error> {
  const text = await response.text();
  return refusalOf({ status: response.status, header: () => undefined, text: () => text });
}

/** The parser asks for the next chunk when it has read all of the last one, so then that one is done. */
async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  { silence, onChunkDone }: { silence: AbortController; onChunkDone: () => void },
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const timer = setTimeout(() => silence.abort(), silenceMsMax);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    yield value;
    onChunkDone();
  }
}
