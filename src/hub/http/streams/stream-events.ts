import { invalidArgument } from "../../../core/errors.ts";
import type { LoggedEvent } from "../../../core/events.ts";
import { formatSse } from "../../../runtime/http/sse.ts";
import { admitEventStream } from "../../use-cases/access/admit-stream.ts";
import { identityOf } from "../../use-cases/access/authenticate.ts";
import { findJob } from "../../use-cases/jobs/find-job.ts";
import { visibleTo } from "../../use-cases/jobs/list-jobs.ts";
import { hubEvent, liveEvent } from "../../views/event-view.ts";
import { type Answer, type Call, written } from "../call.ts";
import { headerOf, overHttp, refuseHead } from "../exchange.ts";

export const sseHeaders = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Accel-Buffering": "no",
} as const;

/** A comment line, which only keeps the connection alive. */
export const ssePing = ": still here\n\n";

/** Live events of the jobs that the caller may see, from Last-Event-ID on or from now. */
export async function streamEvents(call: Call<"streamEvents">): Promise<Answer<"streamEvents">> {
  const { deps, identity, origin, query, exchange } = call;
  refuseHead(exchange);
  if (query.job_id !== undefined) await findJob(deps, { identity, origin, jobId: query.job_id, to: "read" });
  const lastEventId = parseLastEventId(headerOf(exchange, "last-event-id"));
  const canResume = lastEventId === null || (await deps.feed.canResume(lastEventId));
  const onEnd = await admitEventStream(deps, { identity, origin });
  const stream = deps.streams.open(overHttp(exchange).outgoing, {
    headers: sseHeaders,
    onEnd,
    ping: ssePing,
    isStillAllowed: stillAllowed(call),
  });
  const afterSeq = lastEventId !== null && canResume ? lastEventId : deps.feed.lastSeq;
  // The first line has the reader's position, so that a reader that is cut off before any event can resume.
  await stream.write(`retry: ${retryMs()}\nid: ${afterSeq}\n\n`);
  // Parsers report an id only with an event.
  if (query.hub) await stream.write(formatSse({ id: String(afterSeq), event: "hub:opened", data: "{}" }));
  if (!canResume) await stream.write(formatSse({ id: String(afterSeq), event: "reset", data: "{}" }));
  void send(call, stream, afterSeq);
  return { status: 200, body: written };
}

async function send(
  { deps, identity, query }: Call<"streamEvents">,
  stream: ReturnType<typeof deps.streams.open>,
  afterSeq: number,
): Promise<void> {
  const { tenantId, userId: ownerId } = visibleTo(identity);
  const filter = {
    afterSeq,
    tenantId,
    ownerId,
    jobId: query.job_id,
    hasHub: query.hub === true && identity.tokenId !== "",
  };
  try {
    for await (const page of deps.feed.follow(filter, stream.signal)) {
      await stream.write(page.length === 1 ? encode(page[0]!) : Buffer.concat(page.map(encode)));
    }
  } catch (error) {
    deps.failures.warn(error, "an event stream ended early; its reader will resume");
  } finally {
    stream.end();
  }
}

/** Readers that keep up receive the same events, so each event is encoded once for all of them. */
const encoded = new WeakMap<LoggedEvent, Buffer>();

function encode(event: LoggedEvent): Buffer {
  const known = encoded.get(event);
  if (known !== undefined) return known;
  const { name, data } = hubEvent(event) ?? liveEvent(event);
  const bytes = Buffer.from(formatSse({ id: String(event.seq), event: name, data: JSON.stringify(data) }));
  encoded.set(event, bytes);
  return bytes;
}

/** Readers that lost the hub at the same time must not all reconnect at the same time. */
function retryMs(): number {
  return 1000 + Math.floor(Math.random() * 2000);
}

function parseLastEventId(header: string | undefined): number | null {
  if (header === undefined || header === "") return null;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw invalidArgument({ path: "Last-Event-ID", message: "must be the id of an event" });
}

/** Returns a check for an open stream: whether the caller's token is still valid. */
export function stillAllowed(
  call: Pick<Call<"streamEvents">, "deps" | "credentials" | "identity">,
): () => Promise<boolean> {
  if (call.identity.tokenId === "") return async () => true;
  return async () => (await identityOf(call.deps, call.credentials)) !== null;
}
