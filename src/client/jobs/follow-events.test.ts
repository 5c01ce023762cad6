import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { formatSse } from "../../runtime/http/sse.ts";
import { jobIdNumber, type RequestHandler, sendError, startTinyHub } from "../testing/tiny-hub.ts";
import { Writ } from "../writ.ts";

async function open(answer: RequestHandler) {
  const hub = await startTinyHub(answer);
  const clock = {
    ...systemClock,
    sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(0, signal),
  };
  const writ = new Writ({ url: hub.url, clock });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return { hub, writ };
}

const data = {
  id: jobIdNumber(1),
  type: "test",
  status: "pending",
  worker_id: null,
  attempt: 0,
  priority: 5,
  ts: 1,
};
const created = (seq: number) =>
  formatSse({ id: String(seq), event: "job:created", data: JSON.stringify(data) });

test("a token that is not valid ends it at once", async () => {
  const { hub, writ } = await open((_, response) => sendError(response, 401, "UNAUTHENTICATED"));
  await expect(writ.events().next()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  expect(hub.seen).toHaveLength(1);
});

test("after a break it continues behind the last event that it yielded", async () => {
  let answers = 0;
  const { hub, writ } = await open((_, response) => {
    const first = 1 + answers++ * 2;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(created(first) + created(first + 1), () => response.destroy());
  });

  const ids: unknown[] = [];
  for await (const event of writ.events({ jobId: data.id })) {
    ids.push(event.event_id);
    if (ids.length === 6) break;
  }

  expect(ids).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(hub.seen.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "2", "4"]);
  expect(hub.seen[0]?.query.get("job_id")).toBe(data.id);
});

test("C9: events are flat, a gap is an event of its own, and unknown events are skipped", async () => {
  const { writ } = await open((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(formatSse({ id: "7", event: "reset", data: "{}" }));
    response.write(formatSse({ id: "8", event: "weather", data: "sunny" }));
    response.write(formatSse({ id: "8", event: "job:postponed", data: JSON.stringify(data) }));
    response.write(created(9));
  });

  const events = writ.events({ lastEventId: "3" });
  expect((await events.next()).value).toEqual({ event: "reset", event_id: "7" });
  expect((await events.next()).value).toEqual({ event: "job:created", event_id: "9", ...data });
  await events.return(undefined);
});

test("a reader that is cut off before any event continues from the position that the hub named first", async () => {
  let answers = 0;
  const { hub, writ } = await open((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (answers++ === 0) response.write("retry: 1000\nid: 41\n\n", () => response.destroy());
    else response.write(created(42));
  });

  const events = writ.events();
  expect((await events.next()).value).toMatchObject({ event_id: "42", event: "job:created" });
  await events.return(undefined);

  expect(hub.seen.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "41"]);
});
