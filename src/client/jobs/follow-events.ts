import { jobRoutes } from "../../contract/routes/job-routes.ts";
import { liveEvent } from "../../contract/shapes/view-shapes.ts";
import { eventTable } from "../../core/events.ts";
import { tryParseJson } from "../../core/text/json-value.ts";
import { parseSse, type SseEvent } from "../../runtime/http/sse.ts";
import { openDeadline } from "../deadline.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import { Pace } from "../hub/pace.ts";
import type { JobEvent, JobEventName } from "../shapes.ts";

export type FollowEventsOptions = {
  /** Begins after this event; by default with events from now on. */
  lastEventId?: string | undefined;
  jobId?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called each time that the hub has begun to send. */
  onOpen?: (() => void) | undefined;
  /** Called each time that it has stopped sending, or could not begin, before it is asked again. */
  onLost?: (() => void) | undefined;
};

/** The live events of jobs. After a broken connection it continues where it stopped, without a gap. */
export async function* followEvents(hub: HubCaller, options: FollowEventsOptions): AsyncGenerator<JobEvent> {
  const deadline = openDeadline(hub.clock, { signal: options.signal });
  const { signal } = deadline;
  const pace = new Pace(hub);
  let lastId = options.lastEventId;
  let hasOpened = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      try {
        const query = { job_id: options.jobId };
        const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
        const { body } = await hub.stream(jobRoutes.streamEvents, { query, headers }, signal);
        pace.answered();
        options.onOpen?.();
        // Without an event before the break, nothing tells the hub where to continue.
        if (hasOpened && lastId === undefined) yield { event: "reset", event_id: undefined };
        hasOpened = true;
        const noted = noteFirstId(body, (id) => {
          lastId = id;
        });
        for await (const event of parseSse(noted)) {
          pace.progressed();
          lastId = event.id ?? lastId;
          const known = readEvent(event);
          if (known !== undefined) yield known;
        }
        options.onLost?.();
        // The hub ends a stream when it stops or has to shed load; both need a moment before the next try.
        await pace.pause(signal);
      } catch (error) {
        options.onLost?.();
        await pace.pauseAfter(error, signal);
      }
    }
  } finally {
    deadline.release();
  }
}

// The hub begins a stream with two short lines.
const headCharsMax = 1024;

/**
 * The first lines contain the reader's position before any event has arrived, so that a reader that is cut off early
 * can resume too. An event parser does not show them, because they are not events.
 */
async function* noteFirstId(body: AsyncIterable<Buffer>, note: (id: string) => void): AsyncGenerator<Buffer> {
  let words: string | null = "";
  for await (const chunk of body) {
    if (words !== null) {
      words += chunk.toString("latin1");
      const end = words.indexOf("\n\n");
      const id = end === -1 ? undefined : /^id: ?(.+)$/m.exec(words.slice(0, end))?.[1];
      if (id !== undefined) note(id);
      if (end !== -1 || words.length > headCharsMax) words = null;
    }
    yield chunk;
  }
}

/** Unknown events are skipped, so that an older client works with a newer hub. */
function readEvent({ id, event, data }: SseEvent): JobEvent | undefined {
  if (event === "reset") return { event, event_id: id };
  if (!isJobEventName(event)) return undefined;
  const parsed = liveEvent.safeParse(tryParseJson(data));
  if (!parsed.success) return undefined;
  if (event !== "job:progress") return { event, event_id: id, ...parsed.data };
  const { progress } = parsed.data;
  return progress === undefined ? undefined : { event, event_id: id, ...parsed.data, progress };
}

const eventNames = new Set<string>(Object.values(eventTable).map(({ live }) => `job:${live}`));

function isJobEventName(name: string): name is JobEventName {
  return eventNames.has(name);
}
