import { type IncomingMessage, request } from "node:http";
import { liveEvent } from "../../src/contract/shapes/view-shapes.ts";
import { checkJson } from "./check-answer.ts";
import { eventually } from "./eventually.ts";
import type { TestHub } from "./hub.ts";

export type StreamedEvent = { id: string | undefined; event: string; data: Record<string, unknown> };

export type EventStream = {
  status: number;
  headers: IncomingMessage["headers"];
  /** Everything that has arrived, oldest first. */
  events: StreamedEvent[];
  /** The last id that the stream has named, with an event or without one. */
  lastId(): string | undefined;
  /** Waits for an event that fits. */
  until(what: string, fits: (event: StreamedEvent) => boolean): Promise<StreamedEvent>;
  /** Resolves when the hub has closed the stream. */
  ended: Promise<void>;
  /** Hangs up without a word. */
  cut(): void;
};

/** Opens a stream of server-sent events and collects what comes. */
export async function openEventStream(
  hub: TestHub,
  path: string,
  options: { token?: string; lastEventId?: string; headers?: Record<string, string> } = {},
): Promise<EventStream> {
  const headers = {
    ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
    ...(options.lastEventId === undefined ? {} : { "Last-Event-ID": options.lastEventId }),
    ...options.headers,
  };
  const incoming = await open(hub, `/api/v1${path}`, headers);
  const events: StreamedEvent[] = [];
  const ended = Promise.withResolvers<void>();
  let lastId: string | undefined;
  let rest = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (text: string) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = fieldsOf(block);
      lastId = fields.get("id") ?? lastId;
      const data = fields.get("data");
      if (data === undefined) continue;
      const event = fields.get("event") ?? "message";
      // Thrown out of a listener, it fails the test file: no stream may show what the contract does not name.
      if (event.startsWith("job:")) checkJson(liveEvent, event, data);
      events.push({ id: fields.get("id"), event, data: JSON.parse(data) });
    }
  });
  incoming.on("close", () => ended.resolve());
  incoming.on("error", () => ended.resolve());
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    events,
    lastId: () => lastId,
    until: (what, fits) => eventually(what, () => events.find(fits)),
    ended: ended.promise,
    cut: () => incoming.destroy(),
  };
}

/** Opens any answer that stays open, such as followed output. */
export function open(
  { agent, port }: TestHub,
  path: string,
  headers: Record<string, string>,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request({ host: "127.0.0.1", port, path, headers, agent })
    .on("response", resolve)
    .on("error", reject)
    .end();
  return promise;
}

function fieldsOf(block: string): Map<string, string> {
  const lines = block.split("\n").filter((line) => line !== "" && !line.startsWith(":"));
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
}
